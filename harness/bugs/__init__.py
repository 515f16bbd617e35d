"""Bugs: the few errors behind the many verdicts, each shrunk to its smallest case."""
