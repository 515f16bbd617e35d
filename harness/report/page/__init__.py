"""The report of a run as one HTML file that needs nothing else: no network, no other file."""
