"""What a stored run says, counted: rates, pairs, intervals, times, as queries over its tables."""
