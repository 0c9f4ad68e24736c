"""Modules and functions stay small enough to be read in one go."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = [
    path
    for package in ("hub", "registry", "workers", "client/hpcfair", "examples", "benchmarks")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "migrations" not in path.parts
]
TESTS = sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "client/tests").rglob("*.py"))

MODULE_LINES = 260
TEST_LINES = 400
FUNCTION_LINES = 60
#: One tree of exceptions, and one benchmark, are read best in one piece.
LONGER = {
    "client/hpcfair/errors.py": 290,
    "benchmarks/passes.py": 280,
}


def test_modules_are_short() -> None:
    lengths = {_name(path): len(path.read_text().splitlines()) for path in CODE}
    assert not {n: lines for n, lines in lengths.items() if lines > LONGER.get(n, MODULE_LINES)}


def test_test_modules_are_short() -> None:
    lengths = {_name(path): len(path.read_text().splitlines()) for path in TESTS}
    assert not {name: lines for name, lines in lengths.items() if lines > TEST_LINES}


def test_functions_are_short() -> None:
    lengths = {
        f"{_name(path)}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in CODE
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES}


def test_modules_say_what_they_are_for() -> None:
    assert not [
        _name(path)
        for path in CODE
        if path.read_text().strip() and not ast.get_docstring(_parsed(path))
    ]


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))
