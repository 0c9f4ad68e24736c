"""The search space of TensorRT; each distinct configuration occurs once.

::

    precision ─ float32: tf32 (GPUs that have it)
              ├ float16
              └ int8
    effort: how long the builder searches for kernels

Networks are strongly typed: TensorRT computes in the types of the ONNX file and in no others, so
the precision is known. (From version 11 on this is the only mode.)
"""

from workers.backends.onnxruntime_cuda.space import has_tf32
from workers.backends.space import QUANTISED, takes_float32
from workers.engine.space import Choice, Conditional, Flag, Parameter, Space
from workers.engine.types import Network, Options, TargetSpec

_HEAVY = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})
#: Builder optimisation levels: TensorRT's default and its maximum.
EFFORTS = {"usual": 3, "most": 5}


def space_of(network: Network, target: TargetSpec) -> Space:
    """Options worth trying for this network on this GPU."""
    parameters: dict[str, Parameter] = {
        "precision": Choice(_precisions(network)),
        "effort": Choice(tuple(EFFORTS)),
    }
    if has_tf32(target):
        parameters["tf32"] = Conditional("precision", ("float32",), Flag())
    return Space(parameters)


def default_of(network: Network, target: TargetSpec) -> Options:
    """TensorRT's defaults: float32, with TF32 if the GPU supports it."""
    options: Options = {"precision": "float32", "effort": "usual", "tf32": True}
    parameters = space_of(network, target).parameters
    return {name: options[name] for name in parameters}


def _precisions(network: Network) -> tuple[str, ...]:
    if not takes_float32(network) or QUANTISED & network.operators.keys():
        return ("float32",)
    if not _HEAVY & network.operators.keys():
        return ("float32", "float16")
    return ("float32", "float16", "int8")
