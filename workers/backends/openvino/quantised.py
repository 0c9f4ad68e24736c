"""The network that NNCF quantised, shared by builds in int8 and studies of layers.

Its weights are in float32, before an operator that rounds them, because plans of mixed precision
leave the rounding of some layers out. Builds store them rounded (:func:`compress_weights`).
"""

import json
from pathlib import Path
from typing import Any

from hpcfair.runtimes.openvino import read_model
from workers.backends.openvino.bias import can_correct
from workers.backends.openvino.convert import save
from workers.engine.intermediates import intermediate
from workers.engine.types import Network, Options

_QUANTISED, _PROVENANCE = "quantised.xml", "provenance.json"


def quantised(exact: Any, network: Network, options: Options) -> tuple[Any, dict[str, Any]]:
    """The quantised network and its provenance.

    Args:
        exact: The network in float32, read from the ``artefact`` of the options.
        options: ``preset``, ``smoothing`` and ``artefact`` count.

    Raises InvalidCandidate if NNCF quantises no operator of the network.
    """
    facts: Options = {
        "preset": options["preset"],
        "smoothing": options.get("smoothing", False),
        "artefact": options.get("artefact", "onnx"),
    }

    def make(folder: Path) -> None:
        # The import takes seconds, and the first of these builds is the only one that needs it.
        from workers.backends.openvino.quantize import quantize  # noqa: PLC0415

        corrects_biases = not can_correct(exact, network)
        model, provenance = quantize(exact.clone(), network, facts, corrects_biases=corrects_biases)
        save(model, folder / _QUANTISED)
        (folder / _PROVENANCE).write_text(json.dumps(provenance))

    with intermediate(network, "openvino int8", facts, make) as folder:
        provenance: dict[str, Any] = json.loads((folder / _PROVENANCE).read_text())
        return read_model(folder / _QUANTISED), provenance


def compress_weights(model: Any) -> None:
    """Store rounded weights as integers, in place: a quarter of the size, and computed alike."""
    # After hpcfair.runtimes.quiet_openvino, which hides its telemetry.
    from openvino._offline_transformations import (  # noqa: PLC0415
        compress_quantize_weights_transformation,
    )

    compress_quantize_weights_transformation(model)
