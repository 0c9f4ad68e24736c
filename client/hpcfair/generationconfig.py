"""What the files of a model state about the texts that it generates."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcfair.errors import BadInput
from hpcfair.typingnames import Self

#: Files with the tokens that end a text; the first one that states them applies.
_CONFIGS = ("generation_config.json", "config.json")
#: Members of config.json that state how many tokens a text may have.
_LENGTHS = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len")


@dataclass(frozen=True, slots=True)
class GenerationConfig:
    """What the files of a model state about its texts.

    Attributes:
        eos: Tokens that end a text.
        pad: Token that fills up texts.
        length: Most tokens of a text; ``None`` if nothing is stated.
    """

    eos: tuple[int, ...] = ()
    pad: int = 0
    length: int | None = None

    @classmethod
    def read(cls, folder: Path | None, eos: int | Sequence[int] | None) -> Self:
        """From the files in a folder, if it has any; ``eos`` replaces theirs."""
        documents = [_members(folder / name) for name in _CONFIGS] if folder else []
        ends = _first(documents, "eos_token_id") if eos is None else eos
        listed: list[Any] = [] if ends is None else [ends]
        if isinstance(ends, list | tuple):
            listed = list(ends)
        if not all(type(token) is int for token in listed):
            raise BadInput(f"eos is {ends!r}, not one or several token ids.")
        pad = _first(documents, "pad_token_id")
        lengths = [_first(documents[-1:], name) for name in _LENGTHS]
        return cls(
            tuple(listed),
            pad if type(pad) is int else next(iter(listed), 0),
            next((length for length in lengths if type(length) is int), None),
        )


def _members(path: Path) -> dict[str, Any]:
    """The members of a JSON object; empty without such a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    inner = content.get("text_config")
    return {**inner, **content} if isinstance(inner, dict) else content


def _first(documents: Sequence[Mapping[str, Any]], name: str) -> Any:
    values = (document.get(name) for document in documents)
    return next((value for value in values if value is not None), None)
