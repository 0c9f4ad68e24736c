"""Quantises networks to int8 with NNCF, with ranges from the model's samples if it has any.

Runs in the child process of a build, on an untrusted network: all exceptions of NNCF are the
candidate's failure.
"""

import logging
from collections import Counter
from typing import Any

from hpcfair.runtimes.quiet_openvino import TELEMETRY, hidden
from workers.backends.openvino.amx import faulty_convolutions
from workers.backends.openvino.layers import make_weights_constant
from workers.backends.openvino.space import is_transformer
from workers.engine.calibration import calibration_inputs
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network, Options

#: NNCF imports torch if it is installed, which takes seconds and is not used here, and has the same
#: telemetry as OpenVINO.
_HIDDEN = (TELEMETRY, "torch")

with hidden(*_HIDDEN):
    import nncf
    from nncf.quantization.advanced_parameters import AdvancedSmoothQuantParameters
    from nncf.quantization.range_estimator import RangeEstimatorParametersSet

_PRESETS = {
    "performance": nncf.QuantizationPreset.PERFORMANCE,
    "mixed": nncf.QuantizationPreset.MIXED,
}
#: -1 disables smoothing; the default is NNCF's own choice for matrix products.
_SMOOTHING = {
    False: AdvancedSmoothQuantParameters(convolution=-1, matmul=-1),
    True: AdvancedSmoothQuantParameters(),
}


def quantize(
    model: Any, network: Network, options: Options, *, corrects_biases: bool
) -> tuple[Any, dict[str, Any]]:
    """Round weights and activations to int8; returns network and provenance. Weights stay in
    float32, before an operator that rounds them.

    The ``preset`` ``performance`` uses symmetric ranges only, ``mixed`` asymmetric ranges for
    activations. Convolutions that OpenVINO may compute wrongly stay as they are
    (:mod:`workers.backends.openvino.amx`). ``corrects_biases`` has NNCF correct the bias of each
    layer, for networks in which :mod:`workers.backends.openvino.bias` cannot correct those of the
    last ones. Raises InvalidCandidate if NNCF quantises no operator of the network.
    """
    inputs, source = calibration_inputs(network)
    make_weights_constant(model)
    # NNCF's own function would raise the level of all handlers of its logger, other people's, too.
    logging.getLogger("nncf").setLevel(logging.ERROR)
    advanced = nncf.AdvancedQuantizationParameters(
        disable_bias_correction=not corrects_biases,
        activations_range_estimator_params=RangeEstimatorParametersSet.MINMAX,
        backend_params={"compress_weights": False},
    )
    advanced.smooth_quant_alphas = _SMOOTHING[bool(options["smoothing"])]
    with hidden(*_HIDDEN):
        quantized = nncf.quantize(
            model,
            nncf.Dataset(inputs),
            preset=_PRESETS[str(options["preset"])],
            subset_size=len(inputs),
            fast_bias_correction=True,
            model_type=nncf.ModelType.TRANSFORMER if is_transformer(network) else None,
            ignored_scope=nncf.IgnoredScope(names=faulty_convolutions(model)),
            advanced_parameters=advanced,
        )
    operators = Counter(node.get_type_name() for node in quantized.get_ops())
    if not operators["FakeQuantize"]:
        raise InvalidCandidate("NNCF finds no operator of this network to quantise")
    method = "NNCF, fast bias correction" if corrects_biases else "NNCF"
    calibration = {"source": source, "runs": len(inputs), "method": method}
    return quantized, {"operators": dict(operators), "calibration": calibration}
