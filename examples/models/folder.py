"""A publishable folder: the network, its card and its test tensors, written together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import yaml

from hpcfair.runtimes.quiet_onnxruntime import ort

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Card:
    """What a model card says. ``front_matter`` holds further keys of the YAML block."""

    title: str
    license: str
    task: str
    tags: tuple[str, ...]
    description: str
    body: str
    front_matter: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """The card as Markdown with a YAML front matter, as the Hugging Face Hub reads it."""
        meta = {
            "license": self.license,
            "pipeline_tag": self.task,
            "library_name": "onnx",
            "tags": list(self.tags),
            "model_name": self.title,
            "description": self.description,
            **self.front_matter,
        }
        block = yaml.safe_dump(meta, sort_keys=False, allow_unicode=True, width=96)
        return f"---\n{block}---\n\n# {self.title}\n\n{self.description}\n\n{self.body.strip()}\n"


def reference_session(model: onnx.ModelProto) -> ort.InferenceSession:
    """The model in ONNX Runtime with every optimisation off: what its outputs are defined by."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def reference_outputs(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Outputs by name, computed without optimisations. Raises ValueError if an output is not
    finite, or equal for all inputs."""
    session = reference_session(model)
    names = [value.name for value in session.get_outputs()]
    outputs = dict(zip(names, session.run(names, dict(inputs)), strict=True))
    for name, value in outputs.items():
        if not np.isfinite(value).all():
            raise ValueError(f"output {name!r} is not finite")
        if np.ptp(value, axis=0).max() == 0:
            raise ValueError(f"output {name!r} does not depend on the input")
    return outputs


def write_folder(
    out: Path,
    *,
    model: onnx.ModelProto,
    card: Card,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    labels: npt.NDArray[np.int64] | None = None,
) -> Path:
    """Write ``model.onnx``, ``README.md`` and ``samples.npz`` into ``out``; rows are samples."""
    onnx.checker.check_model(model, full_check=True)
    out.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, out / "model.onnx")
    (out / "README.md").write_text(card.text(), encoding="utf-8")
    arrays: dict[str, Array] = {f"inputs/{name}": value for name, value in inputs.items()}
    arrays |= {f"outputs/{name}": value for name, value in outputs.items()}
    if labels is not None:
        arrays["labels"] = labels
    with (out / "samples.npz").open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    return out
