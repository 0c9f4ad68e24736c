"""Modules with positional inputs and tensors as outputs around models of transformers.

Both exporters take the models themselves as well, but name their outputs, and even their inputs,
in ways that differ between exporters and releases.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

Tensors = tuple[torch.Tensor, ...]


class _Selected(nn.Module):
    def __init__(self, model: nn.Module, fields: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.fields = tuple(fields)

    def select(self, **inputs: torch.Tensor) -> Tensors:
        result: Any = self.model(**inputs)
        return tuple(result[name] for name in self.fields)


class OfText(_Selected):
    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Tensors:
        return self.select(input_ids=input_ids, attention_mask=attention_mask)


class OfTokens(_Selected):
    """Of a decoder without its cache of keys and values."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Tensors:
        result: Any = self.model(
            input_ids=input_ids, attention_mask=attention_mask, use_cache=False
        )
        return tuple(result[name] for name in self.fields)


class OfPictures(_Selected):
    def forward(self, pixel_values: torch.Tensor) -> Tensors:
        return self.select(pixel_values=pixel_values)


class OfSound(_Selected):
    def forward(self, input_values: torch.Tensor) -> Tensors:
        return self.select(input_values=input_values)


class OfSpectra(_Selected):
    def forward(self, input_features: torch.Tensor) -> Tensors:
        return self.select(input_features=input_features)


class OfBoth(_Selected):
    """Of text and pictures."""

    def forward(
        self, input_ids: torch.Tensor, pixel_values: torch.Tensor, attention_mask: torch.Tensor
    ) -> Tensors:
        return self.select(
            input_ids=input_ids, pixel_values=pixel_values, attention_mask=attention_mask
        )
