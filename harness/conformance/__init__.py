"""Which keyword each engine keeps at which place of a schema: cases, outcomes, gates."""
