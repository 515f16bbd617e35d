"""Lists of bugs, compared: two versions of an engine, a run and a baseline."""
