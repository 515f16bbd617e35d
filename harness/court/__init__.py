"""The protocol court: what a server relies on beside the masks' content, held against libraries."""
