"""What the files of a model state about the texts that it generates."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcfair.errors import BadInput
from hpcfair.tokenrules import TokenRules
from hpcfair.typingnames import Self

#: Files with the tokens that end a text; the first one that states them applies.
_CONFIGS = ("generation_config.json", "config.json")
#: Members of config.json that state how many tokens a text may have.
_LENGTHS = (
    *("max_position_embeddings", "max_target_positions", "n_positions", "max_sequence_length"),
    "max_seq_len",
)
#: Member of a model whose attention knows distances only, so that any text is short enough.
_DISTANCES = "relative_attention_num_buckets"


@dataclass(frozen=True, slots=True)
class GenerationConfig:
    """What the files of a model state about its texts.

    Attributes:
        eos: Tokens that end a text.
        pad: Token that fills up texts.
        length: Most tokens of a text; ``None`` if nothing is stated.
        start: Tokens that begin answers of an encoder-decoder; empty if nothing is stated.
        rules: Tokens that are forced or forbidden in such answers.
    """

    eos: tuple[int, ...] = ()
    pad: int = 0
    length: int | None = None
    start: tuple[int, ...] = ()
    rules: TokenRules = field(default_factory=TokenRules)

    @classmethod
    def read(
        cls,
        folder: Path | None,
        eos: int | Sequence[int] | None,
        start: int | Sequence[int] | None = None,
    ) -> Self:
        """From the files in a folder, if it has any; ``eos`` and ``start`` replace theirs."""
        documents = [_members(folder / name) for name in _CONFIGS] if folder else []
        ends = _tokens("eos", _first(documents, "eos_token_id") if eos is None else eos)
        if start is None:
            stated = _first(documents, "decoder_start_token_id")
            start = _first(documents, "bos_token_id") if stated is None else stated
        pad = _first(documents, "pad_token_id")
        names = () if _first(documents[-1:], _DISTANCES) else _LENGTHS
        lengths = [_first(documents[-1:], name) for name in names]
        return cls(
            ends,
            pad if type(pad) is int else next(iter(ends), 0),
            next((length for length in lengths if type(length) is int), None),
            _tokens("start", start),
            _rules(documents, ends),
        )

    def start_of_answers(self) -> tuple[int, ...]:
        """Tokens that begin answers. Raises BadInput if none are known."""
        if not self.start:
            raise BadInput(
                "The files of this model do not state the token that begins an answer.",
                "Pass it as start=.",
            )
        return self.start


def _tokens(name: str, value: Any) -> tuple[int, ...]:
    """One or several token ids, or none. Raises BadInput for anything else."""
    several = isinstance(value, list | tuple)
    listed: tuple[Any, ...] = tuple(value) if several else () if value is None else (value,)
    if not all(type(token) is int for token in listed):
        raise BadInput(f"{name} is {value!r}, not one or several token ids.")
    return listed


def _rules(documents: Sequence[Mapping[str, Any]], ends: tuple[int, ...]) -> TokenRules:
    first, last, forbidden, forbidden_first = (
        _first(documents, name)
        for name in (
            *("forced_bos_token_id", "forced_eos_token_id"),
            *("suppress_tokens", "begin_suppress_tokens"),
        )
    )
    words = _first(documents, "bad_words_ids")
    listed = [word for word in words if isinstance(word, list)] if isinstance(words, list) else []
    single = [word[0] for word in listed if len(word) == 1 and word[0] not in ends]
    return TokenRules(
        next(iter(_tokens("forced_bos_token_id", first)), None),
        next(iter(_tokens("forced_eos_token_id", last)), None),
        (*_tokens("suppress_tokens", forbidden), *_tokens("bad_words_ids", single)),
        _tokens("begin_suppress_tokens", forbidden_first),
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
