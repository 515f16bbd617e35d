"""What the harness costs: `python -m benchmarks` measures it; see README.md here."""
