"""Notebooks of tutorials: ``python -m tests.manual.notebook`` writes them anew."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.manual.blocks import DOCS, fences

#: Tutorials in Python alone, each with a notebook beside it.
TUTORIALS = (DOCS / "tutorials" / "compare.md",)


def notebook_of(page: Path) -> str:
    """The notebook of a page, in format 4.5: its texts and its blocks of Python, without output."""
    cells = [
        {"id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        | ({"cell_type": "markdown"} if is_text else _CODE)
        for number, (is_text, text) in enumerate(_cells(page.read_text()), 1)
    ]
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


_CODE: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": []}


def _cells(text: str) -> Iterator[tuple[bool, str]]:
    """Whether it is text, and the content, of each cell. Shown outputs are left out."""
    lines, at = text.splitlines(keepends=True), 0
    for token in fences(text):
        assert token.map is not None
        if token.info not in {"python", "text"}:
            continue
        yield from _texts(lines[at : token.map[0]])
        if token.info == "python":
            yield False, token.content.rstrip("\n")
        at = token.map[1]
    yield from _texts(lines[at:])


def _texts(lines: list[str]) -> Iterator[tuple[bool, str]]:
    if text := "".join(lines).strip():
        yield True, text


if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.with_suffix(".ipynb").write_text(notebook_of(tutorial))
