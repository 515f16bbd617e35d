"""What a server relies on beside the masks' content, as rules that libraries and adapters keep."""
