"""What a run is made of: cases, vocabularies, and where they come from."""
