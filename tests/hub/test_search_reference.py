"""docs/search.md documents the query grammar, as the parser reads it."""

import re
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from registry.search.parser import Query, parse
from registry.search.vocabulary import FILTERS, SORTS

PAGE = Path(__file__).parents[2] / "docs" / "search.md"


def test_the_page_is_what_the_command_writes() -> None:
    out = StringIO()
    call_command("search_reference", stdout=out)
    assert PAGE.read_text() == out.getvalue(), "run: make docs-search"


def test_each_example_of_the_page_can_be_read() -> None:
    text = PAGE.read_text()
    first = re.search(r"```\n(galaxy.*?)```", text, re.DOTALL)
    assert first is not None
    examples = [*first[1].splitlines(), *re.findall(r"^\| `([a-z]+:[^`]+)`", text, re.MULTILINE)]
    assert len(examples) == 2 + len(FILTERS)
    assert Query() not in map(parse, examples)
    assert all(f"| `{name}` |" in text for name in SORTS)
