"""JSON Schemas as data: what applies where, and values that probably fit."""
