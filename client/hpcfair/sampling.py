"""The choice of the next token by the logits of a decoder."""

from dataclasses import dataclass

import numpy as np

from hpcfair.errors import BadInput
from hpcfair.runtimes.base import Array


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen: the most probable one, or a random one.

    Attributes:
        temperature: Logits are divided by it, which makes improbable tokens rarer below 1; the most
            probable token is chosen if it is ``None`` or 0.
        top_k: Only as many of the most probable tokens.
        top_p: Only the most probable tokens that together have this probability.
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        _require(self.temperature, "temperature", is_valid=_at_least(self.temperature, 0))
        is_count = type(self.top_k) is int and self.top_k > 0
        _require(self.top_k, "top_k", is_valid=is_count)
        is_share = _at_least(self.top_p, 0) and 0 < float(self.top_p or 0) <= 1
        _require(self.top_p, "top_p", is_valid=is_share)
        if not self.temperature and (self.top_k, self.top_p) != (None, None):
            raise BadInput(
                "top_k and top_p choose among random tokens, and without a temperature the most "
                "probable one is taken.",
                "Pass temperature=1.0 as well.",
            )

    def choose(self, logits: Array, rng: np.random.Generator) -> Array:
        """One token for each row of ``logits``, which are ``[rows, tokens]``."""
        if not self.temperature:
            return np.asarray(logits.argmax(axis=1), np.int64)
        scaled = logits.astype(np.float64) / self.temperature
        return np.array([rng.choice(row.size, p=self._probabilities(row)) for row in scaled])

    def _probabilities(self, row: Array) -> Array:
        """Probabilities of tokens; zero for those that are left out."""
        order = np.argsort(-row, kind="stable")[: self.top_k]
        weights = np.exp(row[order] - row[order[0]])
        weights /= weights.sum()
        if self.top_p is not None:
            # The token that reaches the probability belongs to them.
            count = int(np.searchsorted(np.cumsum(weights), self.top_p)) + 1
            order, weights = order[:count], weights[:count]
        probabilities = np.zeros(row.size)
        probabilities[order] = weights / weights.sum()
        return probabilities


def _at_least(value: object, least: float) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and value >= least


def _require(value: object, name: str, *, is_valid: bool) -> None:
    if value is not None and not is_valid:
        meaning = {
            "temperature": "a number from 0 on",
            "top_k": "a whole number from 1 on",
            "top_p": "a probability above 0",
        }
        raise BadInput(f"{name} is {value!r}, not {meaning[name]}.")
