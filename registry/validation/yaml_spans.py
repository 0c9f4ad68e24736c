"""Text positions of the keys of a YAML document, for editing."""

from dataclasses import dataclass, replace
from typing import Any

import yaml

from registry.validation.yaml_tree import Loader, index_of


@dataclass(frozen=True, slots=True)
class Span:
    """A key of the top mapping with its value, as offsets into the text.

    Attributes:
        stop: End of the value; of a text in block style, end of its last line.
        is_block: Whether the value is a text in block style.
    """

    key: str
    start: int
    stop: int
    is_block: bool


def spans(text: str) -> list[Span]:
    """The keys of the top mapping of a document that :func:`load` accepts, in their order.

    Empty unless that mapping is in block style, where each key has lines of its own.
    """
    keys: list[Span] = []
    flows: list[bool] = []
    keys_and_values = 0
    for event in yaml.parse(text, Loader=Loader):
        begins = isinstance(event, yaml.CollectionStartEvent)
        ends = isinstance(event, yaml.CollectionEndEvent)
        if begins and not flows and not _is_block_mapping(event):
            return []
        if len(flows) == 1 and not ends:
            if keys_and_values % 2 == 0:
                keys.append(
                    Span(getattr(event, "value", ""), index_of(event.start_mark), 0, is_block=False)
                )
            keys_and_values += 1
        # A collection in block style ends only where the next node starts.
        has_text = isinstance(event, yaml.NodeEvent) and not begins
        if keys and (has_text or (ends and flows[-1])):
            keys[-1] = replace(
                keys[-1],
                stop=index_of(event.end_mark),
                is_block=isinstance(event, yaml.ScalarEvent) and event.style in {"|", ">"},
            )
        if begins:
            flows.append(_is_flow(event))
        elif ends:
            flows.pop()
    return keys


def _is_block_mapping(event: yaml.Event) -> bool:
    return isinstance(event, yaml.MappingStartEvent) and not _is_flow(event)


def _is_flow(event: Any) -> bool:
    return bool(event.flow_style)
