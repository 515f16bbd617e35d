"""What is computed and printed of stored runs."""

SHOWN = 600
"""Verdicts that a page shows unless it is told otherwise."""
