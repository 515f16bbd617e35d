"""Localization: at which byte of a text an error under a schema lies."""
