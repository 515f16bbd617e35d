"""Classification: which verdicts are about deviations that an engine declares."""
