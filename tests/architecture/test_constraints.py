"""The versions of ``constraints.txt`` install on the oldest Python that the hub promises.

``make lock`` writes down what is newest for the Python of whoever runs it, and a later patch
release admits packages that refuse an earlier one.
"""

import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def test_no_package_refuses_the_oldest_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines}
    required = {
        each.name: each.metadata["Requires-Python"]
        for each in distributions()
        if canonicalize_name(each.name) in pinned and "Requires-Python" in each.metadata
    }
    assert len(required) > 100
    assert not {name: text for name, text in required.items() if oldest not in SpecifierSet(text)}
