"""Counting: the verdicts of a finished run as counts, severities, shares and intervals."""
