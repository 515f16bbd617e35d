"""The notebooks, executed by the running interpreter; run as a module, it writes their outputs.

``python -m tests.notebooks [NAME…]`` executes the notebooks as in a clone without runs (set
MASKCOURT_RUN for another run in the report). No installed kernel is needed, and nothing of when,
where and by which interpreter they were executed is kept.
"""

import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

DIRECTORY = Path(__file__).parent.parent / "notebooks"
LARGEST = 200_000
"""Bytes that a notebook may have, outputs included."""

_METADATA = {"language_info": {"name": "python"}}


class RunningInterpreter(AsyncKernelManager):
    """Starts the interpreter that runs this, whatever kernels are installed, on 127.0.0.1."""

    @property
    def kernel_spec(self):
        return KernelSpec(**get_kernel_dict())


def execute(name, directory):
    """A notebook with its outputs, executed in `directory`."""
    notebook = nbformat.read(DIRECTORY / f"{name}.ipynb", as_version=4)
    client = NotebookClient(
        notebook,
        timeout=280,
        kernel_manager_class=RunningInterpreter,
        resources={"metadata": {"path": str(directory)}},
    )
    with mock.patch.dict(os.environ, PYTHONHASHSEED="0"):
        client.execute()
    return plain(notebook)


def plain(notebook):
    """A notebook with its sources and outputs, and nothing of where they were made."""
    notebook.metadata = nbformat.from_dict(_METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})
    return notebook


def outputs(notebook):
    """The outputs of a notebook, cell by cell."""
    return [cell.get("outputs", []) for cell in notebook.cells]


def main():
    """Execute the notebooks that are named, or all, and write them back."""
    for name in sys.argv[1:] or sorted(file.stem for file in DIRECTORY.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as empty:
            nbformat.write(execute(name, empty), DIRECTORY / f"{name}.ipynb")


if __name__ == "__main__":
    main()
