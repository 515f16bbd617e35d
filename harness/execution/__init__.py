"""Execution: a run from the user's request to a finished directory, on one machine or many."""
