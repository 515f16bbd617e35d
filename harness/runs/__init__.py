"""The run directory: tables, manifest, readers."""
