"""Live models of PyTorch, their seeded weights, and both of its exporters."""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from benchmarks.exports.drawing import Export

_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_NORMS = (
    *(nn.LayerNorm, nn.GroupNorm, *_BATCH_NORMS),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d),
)
_PRODUCTS = (
    *(nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d),
    *(nn.ConvTranspose1d, nn.ConvTranspose2d),
)
_BATCH = "batch"


@dataclass
class TorchModel:
    """A :class:`~benchmarks.exports.live.LiveModel` of a module with positional inputs.

    Attributes:
        output_names: One for each tensor that the module returns.
        axes: Input to names of its dynamic dimensions by axis, besides the batch. The same name
            means the same size.
        output_axes: The same of outputs, which only the exporter by TorchScript must be told.
        gain: Variance of the result of a layer over that of its input, for weights that are drawn;
            ``None`` keeps the module's.
        is_normalised: Whether batch normalisations get statistics of the samples, as by training
            (:func:`take_statistics`).
    """

    module: nn.Module
    inputs: Mapping[str, npt.NDArray[Any]]
    output_names: Sequence[str]
    axes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    output_axes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    gain: float | None = 1.5
    labels: npt.NDArray[np.int64] | None = None
    is_normalised: bool = False

    def __post_init__(self) -> None:
        if self.gain is not None:
            settle(self.module, self.gain)
        self.module.eval()
        if self.is_normalised:
            take_statistics(self.module, self._tensors(slice(None)))

    def outputs(self) -> list[npt.NDArray[Any]]:
        """See :meth:`benchmarks.exports.live.LiveModel.outputs`. Samples run one by one."""
        rows = []
        with torch.no_grad():
            for row in range(len(next(iter(self.inputs.values())))):
                result = self.module(*self._tensors(slice(row, row + 1)))
                rows.append(result if isinstance(result, tuple) else (result,))
        return [np.concatenate([r.numpy() for r in each]) for each in zip(*rows, strict=True)]

    def write(self, export: Export, folder: Path) -> None:
        """See :meth:`benchmarks.exports.live.LiveModel.write`. Dynamo's exporter makes a program,
        which is written as ``model.pt2``."""
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            if export.exporter == "dynamo":
                self._write_program(export, folder)
            else:
                self._write_traced(export, folder / "model.onnx")

    def _write_program(self, export: Export, folder: Path) -> None:
        # Sizes 0 and 1 would be specialised; two rows stand for any number.
        tensors = self._tensors(slice(0, 2 if export.is_dynamic else 1))
        shapes = None
        if export.is_dynamic:
            shapes = tuple(
                dict.fromkeys(self._axes(name), torch.export.Dim.DYNAMIC) for name in self.inputs
            )
        program = torch.export.export(self.module, tensors, dynamic_shapes=shapes)
        torch.onnx.export(
            program,
            (),
            str(folder / "model.onnx"),
            dynamo=True,
            external_data=False,
            opset_version=export.opset,
            input_names=list(self.inputs),
            output_names=list(self.output_names),
            verbose=False,
        )
        for node in program.graph.nodes:
            # Names of local files are of no use to others.
            node.meta.pop("stack_trace", None)
        torch.export.save(program, folder / "model.pt2")

    def _write_traced(self, export: Export, path: Path) -> None:
        # The exporter lacks the one operator that this makes of a layer of a transformer.
        torch.backends.mha.set_fastpath_enabled(False)
        axes: dict[str, dict[int, str]] = {}
        if export.is_dynamic:
            axes = {name: self._axes(name) for name in self.inputs}
            for name in self.output_names:
                axes[name] = {0: _BATCH, **self.output_axes.get(name, {})}
        torch.onnx.export(
            self.module,
            self._tensors(slice(0, 1)),
            str(path),
            dynamo=False,
            opset_version=export.opset,
            input_names=list(self.inputs),
            output_names=list(self.output_names),
            dynamic_axes=axes or None,
        )

    def _tensors(self, rows: slice) -> tuple[torch.Tensor, ...]:
        return tuple(torch.from_numpy(array[rows].copy()) for array in self.inputs.values())

    def _axes(self, name: str) -> dict[int, str]:
        return {0: _BATCH, **self.axes.get(name, {})}


def settle(module: nn.Module, gain: float) -> None:
    """Draw weights that keep signals at a sane size, as training does.

    Libraries start with zeros, ones and tiny scales: such a network multiplies by one, adds zero,
    and hardly depends on its input, so that optimisers and comparisons would have an easy time.
    """
    drawn: set[int] = set()
    for part in module.modules():
        weight = getattr(part, "weight", None)
        if isinstance(part, _PRODUCTS) and weight is not None:
            fan_in = max(1, weight[0].numel())
            nn.init.normal_(weight, 0.0, (gain / fan_in) ** 0.5)
            drawn.add(id(weight))
        elif isinstance(part, _NORMS) and weight is not None:
            nn.init.uniform_(weight, 0.7, 1.3)
            drawn.add(id(weight))
        mean, variance = getattr(part, "running_mean", None), getattr(part, "running_var", None)
        if mean is not None and variance is not None:
            nn.init.normal_(mean, 0.0, 0.2)
            nn.init.uniform_(variance, 0.6, 1.4)
    for parameter in module.parameters():
        if id(parameter) not in drawn and parameter.is_floating_point() and _is_plain(parameter):
            nn.init.normal_(parameter, _centre(parameter), 0.1)


def take_statistics(module: nn.Module, samples: Sequence[torch.Tensor]) -> None:
    """Set the statistics of batch normalisations to those of ``samples``, and draw their biases.

    With other statistics, signals grow or vanish in networks of many layers. With biases around
    zero, rectifiers amplify small changes in each layer, so that rounding to bfloat16 changes
    outputs by 3 to 7 %; with biases around 0.5 it is about 1 %.
    """
    for norm in (part for part in module.modules() if isinstance(part, _BATCH_NORMS)):
        if norm.bias is not None:
            nn.init.normal_(norm.bias, 0.5, 0.1)
        norm.reset_running_stats()
        # Averages over all batches, of which there is one.
        norm.momentum = None
        norm.train()
    with torch.no_grad():
        module(*samples)
    module.eval()


def _is_plain(parameter: torch.Tensor) -> bool:
    """Whether all values are equal, as in untrained biases and scales."""
    return bool(parameter.numel() and (parameter == parameter.flatten()[0]).all())


def _centre(parameter: torch.Tensor) -> float:
    value = float(parameter.detach().flatten()[0])
    # Scales of residual branches start at 1e-6 or so, and end about here.
    return 0.2 if 0 < abs(value) < 0.2 else value
