"""A parser of untrusted Markdown with a deadline.

Some texts of a few kilobytes take a parser of Markdown minutes. A rule that never applies is tried
first at every place of a text, and raises once the deadline has passed.
"""

import time
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

#: Seconds for texts whose parse nobody waits for longer; honest ones need some hundredths.
USUAL_S = 1.0
_DEADLINE = "deadline"


class TooCostly(Exception):
    """Parsing takes longer than its deadline."""


class BoundedParser:
    """CommonMark with further rules, or fewer."""

    def __init__(
        self,
        options: Mapping[str, bool] | None = None,
        *,
        enable: tuple[str, ...] = (),
        disable: tuple[str, ...] = (),
    ) -> None:
        self.markdown = MarkdownIt("commonmark", dict(options or {}))
        self.markdown.enable(list(enable)).disable(list(disable))
        everywhere: RuleOptionsType = {
            "alt": ["paragraph", "reference", "blockquote", "list", "table"]
        }
        self.markdown.block.ruler.before("table", _DEADLINE, _check_block, everywhere)
        self.markdown.inline.ruler.before("text", _DEADLINE, _check_inline)

    def parse(self, text: str, seconds: float = USUAL_S) -> list[Token]:
        """The tokens of ``text``. Raises ``TooCostly`` if that takes more than ``seconds``."""
        return self.markdown.parse(text, {_DEADLINE: time.monotonic() + seconds})


def _check_block(state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:  # noqa: FBT001
    return _check(state.env)


def _check_inline(state: StateInline, _silent: bool) -> bool:  # noqa: FBT001
    return _check(state.env)


def _check(environment: Any) -> bool:
    if time.monotonic() > environment[_DEADLINE]:
        raise TooCostly
    return False
