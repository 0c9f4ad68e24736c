"""A module with positional inputs and tensors as outputs around a model of transformers.

Exporters take the models themselves as well, but name their outputs, and even their inputs, in ways
that differ between releases.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

#: Outputs that are not results: caches, and intermediate states that only training needs.
_LEFT_OUT = frozenset(
    {
        *("loss", "past_key_values", "hidden_states", "attentions", "cross_attentions"),
        *("encoder_last_hidden_state", "encoder_hidden_states", "encoder_attentions"),
        *("decoder_hidden_states", "decoder_attentions", "cache_params", "mems", "rope_deltas"),
    }
)


class Selected(nn.Module):
    """``model`` as a function of the tensors ``inputs`` to the tensors ``outputs``."""

    def __init__(self, model: nn.Module, inputs: Sequence[str], options: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.inputs = tuple(inputs)
        self.options = dict(options)
        self.outputs: tuple[str, ...] = ()

    def results(self, *tensors: torch.Tensor) -> Mapping[str, Any]:
        """All results of the model by name."""
        named = dict(zip(self.inputs, tensors, strict=True))
        return _named(self.model(**named, **self.options))

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = self.results(*tensors)
        return tuple(results[name] for name in self.outputs)


def result_names(results: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the results that are tensors and answers."""
    return tuple(name for name, value in results.items() if isinstance(value, torch.Tensor))


def _named(results: Any) -> dict[str, Any]:
    """The answers among the results by name; those of lists are numbered."""
    if isinstance(results, torch.Tensor):
        return {"output": results}
    # The outputs of transformers are mappings, by any release's name for them.
    pairs = results.items() if isinstance(results, Mapping) else [("output", results)]
    answers: dict[str, Any] = {}
    for name, value in pairs:
        if name in _LEFT_OUT:
            continue
        if isinstance(value, list | tuple):
            answers |= {f"{name}_{number}": each for number, each in enumerate(value)}
        else:
            answers[name] = value
    return answers
