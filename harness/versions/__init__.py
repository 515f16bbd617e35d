"""Lists of bugs, compared: two versions of an engine, several runs, a run and a baseline."""
