"""What looks into the processes of a run."""
