"""The glossary and the code name the same things."""

import ast
import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PACKAGES = {name: ROOT / name for name in ("hub", "registry", "workers")} | {
    "hpcfair": ROOT / "client" / "hpcfair"
}
#: Class names that a framework prescribes.
PRESCRIBED = {"Command", "Meta", "Migration"}
#: Errors that the client raises for the hub's errors of the same name: see ``hpcfair.errors``.
ERROR_MODULES = {"hpcfair.errors", "registry.errors"}


def _rows() -> list[list[str]]:
    lines = GLOSSARY.read_text().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| **")
    ]


def _paths(row: list[str]) -> list[str]:
    return re.findall(r"`([\w.]+)`", row[-1])


def _classes() -> dict[str, list[str]]:
    """Every public class of the product: its name to the modules that define it."""
    modules = defaultdict(list)
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            if "migrations" in path.parts:
                continue
            dotted = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    modules[node.name].append(dotted.removesuffix(".__init__"))
    return modules


@cache
def _glossary_classes() -> dict[str, set[str]]:
    """Class name to the packages in which the glossary lists it."""
    packages = defaultdict(set)
    for row in _rows():
        for path in _paths(row):
            packages[path.rpartition(".")[2]].add(path.split(".")[0])
    return packages


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[0].strip("*"))
def test_each_term_is_a_class_or_a_module(row: list[str]) -> None:
    assert len(row) == 4
    assert _paths(row), f"{row[0]} names no code"
    for path in _paths(row):
        module, _, attribute = path.rpartition(".")
        try:
            import_module(path)
        except ModuleNotFoundError:
            assert hasattr(import_module(module), attribute), path


def test_each_term_is_defined_once() -> None:
    terms = [row[0].casefold() for row in _rows()]
    assert len(terms) == len(set(terms))


def test_class_names_are_unique_within_a_package() -> None:
    twins = {}
    for name, modules in _classes().items():
        packages = [module.split(".")[0] for module in modules]
        if name not in PRESCRIBED and len(packages) != len(set(packages)):
            twins[name] = modules
    assert not twins


def test_packages_share_a_class_name_only_for_a_term_of_the_glossary() -> None:
    twins = {}
    for name, modules in _classes().items():
        if name in PRESCRIBED or len(modules) == 1 or set(modules) <= ERROR_MODULES:
            continue
        if {module.split(".")[0] for module in modules} != _glossary_classes()[name]:
            twins[name] = modules
    assert not twins
