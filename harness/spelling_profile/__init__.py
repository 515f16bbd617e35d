"""How engines may spell JSON: a battery of spellings, and what each engine makes of it."""
