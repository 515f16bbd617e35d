"""JSON as text: read strictly, written so far, laid out."""
