"""Hosts, lanes and what they are started with: one engine per process."""
