"""Witnesses of verdicts, and their replay."""
