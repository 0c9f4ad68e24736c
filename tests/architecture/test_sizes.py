"""Rooms stay small enough to be read in one go."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = [
    path
    for room in ("hub", "registry", "workers", "client/hpcfair", "examples", "benchmarks")
    for path in sorted((ROOT / room).rglob("*.py"))
    if "migrations" not in path.parts
]
TESTS = sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "client/tests").rglob("*.py"))

MODULE_LINES = 400
FUNCTION_LINES = 60


@pytest.mark.parametrize("path", CODE + TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_is_short(path: Path) -> None:
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]
    assert not long


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_is_for(path: Path) -> None:
    source = path.read_text()
    assert not source.strip() or ast.get_docstring(ast.parse(source))
