"""Tiny wheels made by hand, a package index that has nothing else, and an adapter for them."""

import base64
import hashlib
import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from harness.engines.environments import provide
from harness.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]

ADAPTER = '''
from importlib.metadata import version

from harness.protocol import EngineInfo, Refused


class Toy:
    """Says which distribution and which module it found; compiles nothing."""

    OPTIONS = {}
    DISTRIBUTION = "toy-engine"

    def __init__(self, vocabulary, options):
        import toy_engine

        self.info = EngineInfo("toy", version("toy-engine"), {}, {"module": toy_engine.HERE})

    def compile(self, schema):
        raise Refused("a toy")


class Nameless(Toy):
    DISTRIBUTION = ""


class Silent:
    OPTIONS = {}

    def compile(self, schema):
        raise NotImplementedError


class Tested(Toy):
    TESTED = "1.0"


class Unpublished(Toy):
    DISTRIBUTION = "toy-unpublished"
'''


def wheel(directory, name, version, requires=(), text=""):
    """A wheel with one module, which knows its distribution's version as `HERE`, and more `text`."""
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {one}" for one in requires]
    files = {
        f"{module}.py": f"HERE = {version!r}\n{text}",
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{info}/RECORD,,\n"
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
        record += f"{path},sha256={digest.rstrip('=')},{len(text)}\n"
    files[f"{info}/RECORD"] = record
    path = Path(directory, f"{module}-{version}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
    return path


def small_index(directory, monkeypatch, *, exist_ok=False):
    """Have pip know of toy-engine 1.0, which needs a base, of 2.0, and of nothing else."""
    directory.mkdir(exist_ok=exist_ok)
    wheel(directory, "toy-engine", "1.0", requires=["toy-base>=1"])
    wheel(directory, "toy-engine", "2.0")
    wheel(directory, "toy-base", "1.5")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))


def refusal(spec):
    """What is said where a spec cannot be provided."""
    with pytest.raises(UsageError) as caught:
        provide(spec)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def seen_inside(spec, module="toy_engine"):
    """Version and module that a process started like a host finds."""
    name = module.replace("_", "-")
    code = (
        f"import json, importlib.metadata as m, {module}, numpy\n"
        f"print(json.dumps([m.version({name!r}), {module}.HERE, {module}.__file__]))"
    )
    path = os.pathsep.join([*spec.paths, str(ROOT)])
    command = [spec.interpreter, "-P", "-c", code]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=True
    )
    version, here, file = json.loads(done.stdout)
    assert version == here
    return version, Path(file)
