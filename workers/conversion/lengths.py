"""Lets ``len`` of a tensor stay a dynamic size while a model is exported."""

import builtins
import sys
from typing import Any

import torch
from torch import nn

_PACKAGE = "transformers.models."


def keep_lengths_dynamic(model: nn.Module) -> None:
    """Give the modules of ``transformers`` that define ``model`` a ``len`` that returns the size of
    a tensor.

    Python's own returns an integer, by which PyTorch fixes the batch of RT-DETR and others in the
    middle of a network: the file then runs for one number of rows only.
    """
    for name in {type(part).__module__ for part in model.modules()}:
        if name.startswith(_PACKAGE):
            vars(sys.modules[name])["len"] = _length


def _length(value: Any) -> Any:
    return value.shape[0] if isinstance(value, torch.Tensor) else builtins.len(value)
