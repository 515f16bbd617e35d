"""Which keyword a verdict is about, which place, and what kind of token."""
