"""Lowers a network to int8 with NNCF, ranges found on the model's own samples where it has any.

Runs in the limited child process of a build, on a stranger's network: whatever NNCF raises is the
candidate's failure.
"""

import logging
from collections import Counter
from typing import Any

from hpcfair.runtimes.quiet_openvino import TELEMETRY, hidden
from workers.backends.openvino.groups import settle_weights
from workers.backends.openvino.space import is_transformer
from workers.engine.calibration import calibration_inputs
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network, Options

#: NNCF imports torch where it is installed, which takes seconds and is of no use here; and it
#: reports to its maker as OpenVINO does.
_HIDDEN = (TELEMETRY, "torch")

with hidden(*_HIDDEN):
    import nncf
    from nncf.quantization.advanced_parameters import AdvancedSmoothQuantParameters

_PRESETS = {
    "performance": nncf.QuantizationPreset.PERFORMANCE,
    "mixed": nncf.QuantizationPreset.MIXED,
}
#: -1 switches smoothing off; otherwise NNCF's own choice for matrix products.
_SMOOTHING = {
    False: AdvancedSmoothQuantParameters(convolution=-1, matmul=-1),
    True: AdvancedSmoothQuantParameters(),
}


def quantize(model: Any, network: Network, options: Options) -> tuple[Any, dict[str, Any]]:
    """The network with int8 weights and activations, biases corrected; and its provenance.

    ``preset`` ``performance`` has symmetric ranges everywhere, ``mixed`` asymmetric ones for
    activations.

    Raises:
        InvalidCandidate: NNCF finds nothing to quantise.
    """
    inputs, source = calibration_inputs(network)
    settle_weights(model)
    nncf.set_log_level(logging.ERROR)
    advanced = nncf.AdvancedQuantizationParameters()
    if "smoothing" in options:
        advanced.smooth_quant_alphas = _SMOOTHING[bool(options["smoothing"])]
    with hidden(*_HIDDEN):
        quantized = nncf.quantize(
            model,
            nncf.Dataset(inputs),
            preset=_PRESETS[str(options["preset"])],
            subset_size=len(inputs),
            fast_bias_correction=True,
            model_type=nncf.ModelType.TRANSFORMER if is_transformer(network) else None,
            advanced_parameters=advanced,
        )
    operators = Counter(node.get_type_name() for node in quantized.get_ops())
    if not operators["FakeQuantize"]:
        raise InvalidCandidate("NNCF finds no operator of this network to quantise")
    calibration = {"source": source, "runs": len(inputs), "method": "NNCF, fast bias correction"}
    return quantized, {"operators": dict(operators), "calibration": calibration}
