"""Tokens that a model's files force or forbid in answers of an encoder-decoder."""

from dataclasses import dataclass

import numpy as np

from hpcfair.runtimes.base import Array


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Tokens that are forced or forbidden, as ``generate`` of ``transformers`` applies them.

    Attributes:
        first: Token behind the one that begins an answer.
        last: Token of an answer that has reached its length.
        forbidden: Tokens that are never taken.
        forbidden_first: Tokens that no answer begins with.
    """

    first: int | None = None
    last: int | None = None
    forbidden: tuple[int, ...] = ()
    forbidden_first: tuple[int, ...] = ()

    def applied(self, logits: Array, step: int, steps: int, start: int) -> Array:
        """Logits ``[rows, tokens]`` of one of ``steps`` new tokens after ``start`` tokens."""
        logits = logits.copy()
        logits[:, _within(logits, self.forbidden)] = -np.inf
        is_forced = start == 1 and self.first is not None
        if step == int(is_forced):
            logits[:, _within(logits, self.forbidden_first)] = -np.inf
        if is_forced and step == 0:
            return _only(logits, self.first)
        return _only(logits, self.last) if step == steps - 1 else logits


def _within(logits: Array, tokens: tuple[int, ...]) -> list[int]:
    """Those tokens that the network knows."""
    return [token for token in tokens if 0 <= token < logits.shape[1]]


def _only(logits: Array, token: int | None) -> Array:
    if token is None or not _within(logits, (token,)):
        return logits
    forced = np.full_like(logits, -np.inf)
    forced[:, token] = 0
    return forced
