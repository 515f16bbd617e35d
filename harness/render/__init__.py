"""One table type and its renderers: terminal, JSON, Markdown, CSV, HTML and JUnit."""
