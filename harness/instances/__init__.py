"""Instances made of a schema alone."""
