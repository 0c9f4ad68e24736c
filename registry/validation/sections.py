"""Sections of a README with their Markdown.

Comments and the placeholders of Hugging Face's template are left out.
"""

import re
from dataclasses import dataclass

from registry.validation.bounded_markdown import BoundedParser, TooCostly

# Upper bound on the parsed characters, since a card may have 1 MiB.
_MAX_CHARACTERS = 100_000
_MAX_TITLE = 300
_EMPTY = re.compile(r"[\s>*_-]*\[?more information (?:is )?needed\.?\]?[\s.*_]*", re.IGNORECASE)
#: Sentences of Hugging Face's template.
_BOILERPLATE = frozenset(
    {
        (
            "Users (both direct and downstream) should be made aware of the risks, biases and "
            "limitations of the model. More information needed for further recommendations."
        ),
        (
            "Users should be made aware of the risks, biases and limitations of the dataset. "
            "More information needed for further recommendations."
        ),
        "Use the code below to get started with the model.",
    }
)
_BLOCKS = BoundedParser(disable=("inline",))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text up to the next heading of any level.

    Attributes:
        title: Text of the heading.
        level: 1 (``#``) to 6.
        line: Line of the heading in the body, from 1.
    """

    title: str
    level: int
    line: int
    text: str

    @property
    def words(self) -> str:
        """The title's words in lower case, without punctuation, emoji and ``[optional]``."""
        plain = re.sub(r"\[optional\]|<[^<>]*>", " ", self.title.casefold())
        return " ".join(re.findall(r"\w+", plain.replace("&", " and ")))


def is_placeholder(text: str) -> bool:
    """Whether ``text`` is a placeholder of the template."""
    return text.strip() in _BOILERPLATE or _EMPTY.fullmatch(text[:200]) is not None


def sections_of(body: str) -> list[Section]:
    """The sections of a README's body, in order; text above the first heading is left out."""
    body = body[:_MAX_CHARACTERS].replace("\r\n", "\n").replace("\r", "\n")
    lines = body.split("\n")
    hidden: set[int] = set()
    headings: list[tuple[int, int, int, str]] = []
    try:
        tokens = _BLOCKS.parse(body)
    except TooCostly:
        return []
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "html_block" and token.content.lstrip().startswith("<!--"):
            hidden.update(range(first, end))
        elif token.type == "heading_open" and token.level == 0:
            title = tokens[index + 1].content[:_MAX_TITLE]
            headings.append((first, end, int(token.tag[1:]), title))
    ends = [*(first for first, *_ in headings), len(lines)][1:]
    return [
        Section(title, level, first + 1, _text(lines, range(begin, end), hidden))
        for (first, begin, level, title), end in zip(headings, ends, strict=True)
    ]


def _text(lines: list[str], numbers: range, hidden: set[int]) -> str:
    text = [lines[n] for n in numbers if n not in hidden and not is_placeholder(lines[n])]
    return "\n".join(text).strip()
