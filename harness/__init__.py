"""maskcourt: compare the masks of constrained-decoding engines and prove who is wrong.

The package body stays empty of imports on purpose: engine hosts import single modules of it
under interpreters that have nothing but numpy and the engine.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.report.frames import load_run as load_run

__version__ = "0.2.0"
__all__ = ["__version__", "load_run"]


def __getattr__(name: str) -> Any:
    if name == "load_run":
        from harness.report.frames import load_run

        return load_run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
