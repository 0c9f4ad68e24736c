"""State diagrams as tables.

Markdown viewers draw ``mermaid`` blocks. The library that draws them needs inline styles, which the
hub's content policy forbids. The manual shows the transitions as a table.
"""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from manual.markdown import table

_TRANSITION = re.compile(r"(?P<start>\S+) --> (?P<end>[^\s:]+)(?:: (?P<event>.+))?")
_OUTSIDE = "[*]"


class StateDiagram(SphinxDirective):
    """The block ``mermaid`` with a ``stateDiagram-v2``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The table of the diagram's transitions."""
        matches = (_TRANSITION.fullmatch(line.strip()) for line in self.content)
        rows = [
            (_state(one["start"], "(start)"), _state(one["end"], "(end)"), one["event"] or "")
            for one in matches
            if one
        ]
        return self.parse_text_to_nodes(table(("from", "to", "when"), rows))


def _state(name: str, outside: str) -> str:
    return outside if name == _OUTSIDE else f"`{name}`"
