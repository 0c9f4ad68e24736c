"""``python -m benchmarks.exports.write EXPORT OUT``: exports a network and its samples.

Runs in the environment of the exporters. ``EXPORT`` is an :class:`Export` as JSON. ``OUT`` gets
``model.onnx``, ``samples.npz`` (``inputs/<tensor>``, the live model's ``outputs/<tensor>``, and
``labels`` if there are any) and for programs of PyTorch ``model.pt2``. The last line of stdout says
``{}``, or what failed and why: ``{"step": "build" | "run" | "export", "reason": text}``.
"""

import json
import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.exports.drawing import Export
from benchmarks.exports.live import LiveModel
from benchmarks.exports.sizes import Sizes

_LONGEST = 600


def main() -> None:
    export, out = Export(**json.loads(sys.argv[1])), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    step = "build"
    # Libraries raise anything.
    try:
        model = _build(export)
        step = "run"
        outputs = _outputs(model)
        step = "export"
        model.write(export, out)
        _write_samples(model, outputs, out)
        answer = {}
    except Exception as error:  # noqa: BLE001
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        answer = {"step": step, "reason": reason[:_LONGEST]}
    sys.stdout.write(f"\n{json.dumps(answer)}\n")


def _build(export: Export) -> LiveModel:
    module = import_module(f"benchmarks.exports.{export.family}")
    # Keras draws the seeds of its layers from the former.
    random.seed(export.seed)
    np.random.seed(export.seed)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(export.seed)
    chance = random.Random(f"{export.name} {export.seed}")  # noqa: S311  not for secrets
    model: LiveModel = getattr(module, export.name)(Sizes(chance, export.scale))
    return model


def _outputs(model: LiveModel) -> list[Any]:
    """Outputs for the samples; raises ValueError if they are of no use for a comparison."""
    outputs = model.outputs()
    for number, output in enumerate(outputs):
        if not np.isfinite(output).all():
            raise ValueError(f"output {number} is not finite")
    if all(np.ptp(output, axis=0).max() == 0 for output in outputs):
        raise ValueError("the outputs do not depend on the inputs")
    return outputs


def _write_samples(model: LiveModel, outputs: list[Any], out: Path) -> None:
    graph = onnx.load(out / "model.onnx", load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in constants]
    arrays = {
        f"inputs/{name}": array for name, array in zip(inputs, model.inputs.values(), strict=True)
    }
    for value, output in zip(graph.output, outputs, strict=True):
        arrays[f"outputs/{value.name}"] = output
    if model.labels is not None:
        arrays["labels"] = model.labels
    np.savez_compressed(out / "samples.npz", allow_pickle=False, **arrays)


if __name__ == "__main__":
    main()
