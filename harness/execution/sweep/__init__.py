"""Sweeps: many lanes on many machines, through the same function as on one."""
