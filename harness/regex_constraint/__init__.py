"""Regular expressions as constraints: the true masks, and what engines make of them."""
