"""JSON Schemas as data: what applies where, values that fit, values that break one rule."""
