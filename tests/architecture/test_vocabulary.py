"""Names say what a thing is, in the standard terms of the field."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("hub", "registry", "workers", "client/hpcfair", "benchmarks", "examples")

#: Participles say how a thing came about, not what it is.
PARTICIPLES = {"asked", "found", "given", "kept", "known", "said", "told", "wanted"}
#: Words that the glossary replaces; see docs/glossary.md for the terms.
METAPHORS = re.compile(
    r"\b(bells?|hearsay|(?<!\x22)headlines?(?!\x22)|ledger|organs|finalists?|the books)\b"
    r"|\b(shop floor|rig)\b",
    re.IGNORECASE,
)


def _files(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    paths = (ROOT / line for line in listed.stdout.splitlines())
    return [path for path in paths if path.is_file() and "migrations" not in path.parts]


def _definitions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a module defines, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def test_names_are_nouns_and_verbs() -> None:
    participles = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in _files(*(f"{package}/*.py" for package in PRODUCT))
        for name, line in _definitions(ast.parse(path.read_text()))
        if name.strip("_") in PARTICIPLES
    ]
    assert not participles


def test_code_and_documents_use_the_terms_of_the_glossary() -> None:
    patterns = [f"{package}/*.py" for package in PRODUCT]
    metaphors = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in _files(*patterns, "templates/*.html", "docs/*.md", "*.md")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if METAPHORS.search(line)
    ]
    assert not metaphors
