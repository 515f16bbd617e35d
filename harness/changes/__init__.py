"""Two versions of an engine: which bugs are gone, which are new, which schemas it compiles now."""
