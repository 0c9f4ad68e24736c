"""Converts exported PyTorch programs to ``.tflite`` files with litert-torch.

The converter and its requirements take gigabytes; they are imported only for candidates that need a
conversion, in the child process of a build.
"""

from importlib import metadata
from pathlib import Path
from typing import Any

from workers.engine.errors import InvalidCandidate
from workers.engine.random_inputs import random_inputs
from workers.engine.types import Network

_HINT = "Install it with: pip install 'hpcfair-hub[litert-convert]'"
_SEED = 0


def convert(network: Network, precision: str, path: Path) -> dict[str, Any]:
    """Write ``path``; returns its provenance.

    With ``precision`` ``int8``, weights are int8 and activation ranges are determined at run time.

    Raises InvalidCandidate if no PyTorch program was published, or the converter fails or is not
    installed. The latter is no ``BackendUnavailable``, because LiteRT itself works without it.
    """
    program = next((form for form in network.alternatives if form.format == "torch-export"), None)
    if program is None:
        raise InvalidCandidate(
            "neither a .tflite file nor a PyTorch program to convert was published; "
            "hpcfair.save of a torch module publishes one"
        )
    try:
        import litert_torch  # noqa: PLC0415  an extra of its own
        import torch  # noqa: PLC0415
    except ImportError as error:
        raise InvalidCandidate(f"litert-torch is not installed: {error}. {_HINT}") from error
    inputs = random_inputs(network, _SEED)
    examples = tuple(torch.from_numpy(inputs[spec.name]) for spec in network.inputs)
    try:
        module = torch.export.load(program.path).module()
        litert_torch.convert(module, examples).export(str(path))
        if precision == "int8":
            _quantise(path)
    # The converters' exceptions share no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"litert-torch: {type(error).__name__}: {error}") from error
    return {
        "source": program.path.name,
        "source_sha256": program.sha256,
        "converter": f"litert-torch {metadata.version('litert-torch')}",
    }


def _quantise(path: Path) -> None:
    """Convert a file to int8 weights, in place."""
    # A requirement of litert-torch.
    from ai_edge_quantizer import quantizer, recipe  # noqa: PLC0415

    result = quantizer.Quantizer(str(path), recipe.dynamic_wi8_afp32()).quantize()
    result.export_model(str(path), overwrite=True)
