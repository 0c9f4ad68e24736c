"""Where each key of a YAML document stands with its value, so that it can be replaced."""

from dataclasses import dataclass, replace
from typing import Any

import yaml

from registry.validation.yaml_tree import Loader, index_of


@dataclass(frozen=True, slots=True)
class Span:
    """Where a key of the top mapping stands with its value, as offsets into the text.

    Attributes:
        stop: Behind the value's last character; for a text in block style, behind its last line.
        is_block: Whether the value is a text in block style.
    """

    key: str
    start: int
    stop: int
    is_block: bool


def spans(text: str) -> list[Span]:
    """The keys of the top mapping of a document that :func:`load` takes, in their order.

    Empty where the top is no mapping in block style: only there does a key have lines of its own.
    """
    found: list[Span] = []
    flows: list[bool] = []
    keys_and_values = 0
    for event in yaml.parse(text, Loader=Loader):
        begins = isinstance(event, yaml.CollectionStartEvent)
        ends = isinstance(event, yaml.CollectionEndEvent)
        if begins and not flows and not _is_block_mapping(event):
            return []
        if len(flows) == 1 and not ends:
            if keys_and_values % 2 == 0:
                found.append(
                    Span(getattr(event, "value", ""), index_of(event.start_mark), 0, is_block=False)
                )
            keys_and_values += 1
        # The end of a collection in block style is where the next thing begins.
        is_written = isinstance(event, yaml.NodeEvent) and not begins
        if found and (is_written or (ends and flows[-1])):
            found[-1] = replace(
                found[-1],
                stop=index_of(event.end_mark),
                is_block=isinstance(event, yaml.ScalarEvent) and event.style in {"|", ">"},
            )
        if begins:
            flows.append(_is_flow(event))
        elif ends:
            flows.pop()
    return found


def _is_block_mapping(event: yaml.Event) -> bool:
    return isinstance(event, yaml.MappingStartEvent) and not _is_flow(event)


def _is_flow(event: Any) -> bool:
    return bool(event.flow_style)
