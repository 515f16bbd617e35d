"""Where data and caches lie: by a variable, by the user's cache directory, in a checkout."""

from pathlib import Path

import pytest

from harness import directories
from harness.directories import (
    DATASETS,
    ENVIRONMENTS,
    VOCABULARIES,
    data_path,
    environments_directory,
    vocabularies_directory,
)
from harness.errors import InputError, MaskcourtError

CACHES = {
    ENVIRONMENTS: ("environments", environments_directory),
    VOCABULARIES: ("vocabularies", vocabularies_directory),
}


@pytest.mark.parametrize("variable", CACHES)
@pytest.mark.parametrize(
    ("named", "cache", "directory"),
    [
        ("/a", "/b", "/a"),
        (None, "/b", "/b/maskcourt/{}"),
        (None, "relative", "/home/x/.cache/maskcourt/{}"),
        (None, None, "/home/x/.cache/maskcourt/{}"),
    ],
)
def test_where_caches_lie(monkeypatch, variable, named, cache, directory):
    name, find = CACHES[variable]
    monkeypatch.setenv("HOME", "/home/x")
    for one, value in (variable, named), ("XDG_CACHE_HOME", cache):
        monkeypatch.delenv(one, raising=False)
        if value is not None:
            monkeypatch.setenv(one, value)
    assert find() == Path(directory.format(name))


class TestDataPath:
    def test_the_checkout(self, monkeypatch):
        monkeypatch.delenv(DATASETS, raising=False)
        assert data_path("vocabulary", "qwen2.5.xz").is_file()

    def test_the_variable_comes_first(self, monkeypatch, tmp_path):
        monkeypatch.setenv(DATASETS, str(tmp_path))
        assert data_path("a", "b") == tmp_path / "a" / "b"

    def test_the_variable_must_name_a_directory(self, monkeypatch, tmp_path):
        monkeypatch.setenv(DATASETS, str(tmp_path / "gone"))
        with pytest.raises(InputError, match=f"{DATASETS}=.*gone is not a directory"):
            data_path("a")

    def test_an_installed_package_has_its_own_and_leaves_the_library_alone(
        self, monkeypatch, tmp_path
    ):
        # In site-packages, datasets/ is the Hugging Face library.
        for directory in ("harness/_datasets", "datasets"):
            (tmp_path / directory).mkdir(parents=True)
        (tmp_path / "datasets" / "__init__.py").touch()
        monkeypatch.delenv(DATASETS, raising=False)
        monkeypatch.setattr(directories, "_CHECKOUT", tmp_path)
        assert data_path("a") == tmp_path / "harness" / "_datasets" / "a"
        (tmp_path / "harness" / "_datasets").rmdir()
        with pytest.raises(MaskcourtError, match="data files of maskcourt are missing"):
            data_path("a")
