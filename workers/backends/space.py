"""Parts of the search spaces of several backends."""

from workers.engine.types import Network

#: Operators of networks that are quantised already.
QUANTISED = frozenset(
    {
        *("QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"),
        *("ConvInteger", "MatMulInteger"),
    }
)


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


def has_open_dimensions(network: Network) -> bool:
    """Whether an input has a dimension of variable size."""
    return any(isinstance(size, str) for spec in network.inputs for size in spec.shape)
