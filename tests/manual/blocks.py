"""The code blocks of a page of the manual."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Languages of blocks that are run; ``console`` shows what a person types elsewhere.
RUN = ("python", "bash")


@dataclass(frozen=True, slots=True)
class Block:
    """A block that is run.

    Attributes:
        page: Path of the page below the repository's root.
        line: Number of the line above the first one of the block's text.
        output: What it prints, with ``...`` for any text, where the page shows it.
    """

    page: str
    line: int
    language: str
    text: str
    output: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def fences(text: str) -> list[Token]:
    """The fenced blocks of a Markdown text, in order."""
    return [token for token in MarkdownIt().parse(text) if token.type == "fence"]


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of a page that are run, in order."""
    found = fences(page.read_text())
    for token, following in itertools.zip_longest(found, found[1:]):
        if token.info in RUN:
            assert token.map is not None
            output = following.content if following and _is_output(token, following) else None
            name = str(page.relative_to(ROOT))
            yield Block(name, token.map[0] + 1, token.info, token.content, output)


def _is_output(block: Token, following: Token) -> bool:
    """Whether a block of text stands directly below a block, with an empty line between."""
    assert block.map is not None
    assert following.map is not None
    return following.info == "text" and following.map[0] - block.map[1] <= 1
