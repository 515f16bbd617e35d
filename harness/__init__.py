"""maskcourt: compare the masks of constrained-decoding engines and prove who is wrong.

The package body stays empty of imports on purpose: engine hosts import single modules of it
under interpreters that have nothing but numpy and the engine.
"""

__version__ = "0.1.0"
