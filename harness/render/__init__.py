"""One table type and its renderers: terminal, JSON, Markdown, CSV and JUnit."""
