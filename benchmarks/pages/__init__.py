"""Published pages that rest on runs; `benchmarks.published` makes them."""
