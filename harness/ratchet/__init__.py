"""A ratchet: a file of what is known to be wrong, beyond which a run may not go."""
