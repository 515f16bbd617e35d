"""Engines: specs, environments, the hosts that serve them, and what is kept of their work."""
