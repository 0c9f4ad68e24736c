"""Parts of the search spaces of several backends."""

from hpcfair.decoder import DecoderInputs
from workers.backends.rewrites.filtering import DenseConvolution
from workers.backends.rewrites.overlap import USUAL_LENGTH, SequenceConvolution
from workers.engine.types import Network

#: Operators of networks that are quantised already.
QUANTISED = frozenset(
    {
        *("QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"),
        *("ConvInteger", "MatMulInteger"),
    }
)

#: Domain of operators of classical machine learning, as inspection counts them.
ML_DOMAIN = "ai.onnx.ml"

_UPSAMPLING = ("ConvTranspose", "Resize", "Upsample")


def thread_counts(cores: int) -> tuple[str, ...]:
    """Distinct thread counts on this many physical cores, highest first. They are relative to the
    machine, so that a build is valid on every machine of its target (ADR 5)."""
    if cores == 1:
        return ("one",)
    return ("all", "one") if cores < 4 else ("all", "half", "one")


def takes_float32(network: Network) -> bool:
    """Whether all floating-point inputs and outputs, if any, are float32, as converters of
    precision need."""
    floats = {
        spec.dtype
        for spec in (*network.inputs, *network.outputs)
        if spec.dtype.startswith(("float", "bfloat", "double"))
    }
    return floats <= {"float32"}


def is_ml(operator: str) -> bool:
    """Whether an operator is one of classical machine learning."""
    return operator.startswith(f"{ML_DOMAIN}::")


def may_shuffle_channels(network: Network) -> bool:
    """Whether operators allow channel shuffles before convolutions: a transposition between two
    reshapes. Attention and detectors have transpositions for other purposes."""
    operators, pads = network.operators, _computed_pads(network)
    transpositions = operators.get("Transpose", 0) - pads
    shuffles = operators.get("Reshape", 0) - 2 * pads > transpositions > 0
    return shuffles and "Conv" in operators and not attends(network)


def may_concatenate_channels(network: Network) -> bool:
    """Whether operators allow concatenations before pointwise convolutions. Those of attention, of
    computed shapes, and of decoders behind each upsampling are other ones."""
    operators = network.operators
    others = sum(operators.get(name, 0) for name in ("Shape", *_UPSAMPLING))
    others += _computed_pads(network)
    return operators.get("Concat", 0) > others and "Conv" in operators and not attends(network)


def has_fast_algorithm(network: Network) -> bool:
    """Whether Winograd's algorithm or Fourier transforms make a convolution of the network
    faster."""
    is_open = any(isinstance(size, str) for spec in network.inputs for size in spec.shape[1:])
    for each in network.convolutions:
        channels = (each.inputs, each.outputs)
        if each.kernel == (3, 3) and each.dilations == (1, 1):
            if DenseConvolution(*channels, *each.result).algorithm():
                return True
        elif len(each.kernel) == 1:
            length = USUAL_LENGTH if is_open else each.result[0]
            sequence = SequenceConvolution(*channels, each.kernel[0], each.dilations[0], length)
            if sequence.window():
                return True
    return False


def _computed_pads(network: Network) -> int:
    """Number of pads that start from a filled tensor, as the older exporter of PyTorch writes them.
    For each, it concatenates and transposes once and reshapes twice."""
    return min(network.operators.get(name, 0) for name in ("ConstantOfShape", "Pad"))


def attends(network: Network) -> bool:
    """Whether the network has attention, which multiplies twice around a softmax, once with a
    transposed matrix. A classifier of several layers ends in a softmax, too."""
    operators = network.operators
    products = operators.get("MatMul", 0) + operators.get("Einsum", 0)
    transposes = bool(operators.keys() & {"Transpose", "Einsum"})
    return "Attention" in operators or ("Softmax" in operators and products > 1 and transposes)


def has_open_dimensions(network: Network) -> bool:
    """Whether an input has a dimension of variable size."""
    return any(isinstance(size, str) for spec in network.inputs for size in spec.shape)


def may_fix_dimensions(network: Network) -> bool:
    """Whether builds for fixed sizes are of use where dimensions are open. The cache of a decoder
    is longer in each run, so that every run would be of a new size."""
    return has_open_dimensions(network) and DecoderInputs.of(network.inputs) is None
