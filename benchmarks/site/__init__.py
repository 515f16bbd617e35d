"""The site: pages made of what is published in `results/` and `docs/`, put together by Sphinx."""
