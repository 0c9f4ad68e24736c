"""Sphinx extension of the manual: generated reference pages, and state diagrams as tables.

A page that contains a line ``<!-- generated: NAME -->`` gets the text of :data:`PAGES` there, so
that the reference always says what the code does.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from sphinx.application import Sphinx

from manual.card import card_page
from manual.commands import agent_page, cli_page, exit_status_page, operator_page
from manual.diagram import StateDiagram
from manual.errors import error_page
from manual.navigation import Navigation
from manual.operations import device_page
from manual.python import python_page, split_names
from manual.rest import object_page, operation_page
from manual.schemas import assessment_page, record_page

#: Name in the marker to the function that writes the text, as Markdown.
PAGES: Mapping[str, Callable[[], str]] = {
    "python": python_page,
    "cli": cli_page,
    "exit-statuses": exit_status_page,
    "agent-cli": agent_page,
    "operator-commands": operator_page,
    "rest": operation_page,
    "rest-objects": object_page,
    "card": card_page,
    "record": record_page,
    "assessment": assessment_page,
    "errors": error_page,
    "device": device_page,
}
_MARKER = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", _insert_generated)
    # Before napoleon, which reads the sections.
    app.connect("autodoc-process-docstring", split_names, priority=400)
    app.add_directive("mermaid", StateDiagram)
    # Before the theme, which calls the function.
    app.connect("html-page-context", Navigation().use, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _insert_generated(_app: Sphinx, _docname: str, source: list[str]) -> None:
    source[0] = _MARKER.sub(lambda marker: PAGES[marker[1]](), source[0])
