"""The output that README shows: ``python -m tests.docs.readme_blocks`` writes it anew."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SCHEMA = Path(__file__).parent / "order.json"

BLOCK = re.compile(r"(<!-- output of: (.+?) -->\n```text\n)(.*?)(```\n)", re.DOTALL)
_VARIES = re.compile(r"\b[\d,.]+ s\b|\bruns/[\w./-]+")
"""How long something took, and where it is."""


def output_of(command: str) -> str:
    """What a command of README prints on standard output, in 80 columns."""
    name, *arguments = shlex.split(command)
    assert name == "maskcourt", "README shows this program's output alone"
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(SCHEMA, place)
        done = subprocess.run(
            [sys.executable, "-P", "-c", "from harness.cli.main import main; main()", *arguments],
            cwd=place,
            env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def blocks() -> dict[str, str]:
    """What README shows, by command."""
    return {command: text for _, command, text, _ in BLOCK.findall(README.read_text("utf-8"))}


def alike(text: str) -> str:
    """A text without what differs from run to run."""
    return _VARIES.sub("#", text)


if __name__ == "__main__":
    page = README.read_text("utf-8")
    README.write_text(BLOCK.sub(lambda one: one[1] + output_of(one[2]) + one[4], page), "utf-8")
