"""What is computed and printed of stored runs."""
