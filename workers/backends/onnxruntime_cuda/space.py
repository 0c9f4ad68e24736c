"""The search space of ONNX Runtime's CUDA provider; each distinct configuration occurs once.

::

    default ─ yes: the provider without options, which rounds float32 products to TF32
            └ no ─ precision ─ float32: tf32, graph_optimization
                             └ float16
                 ├ graphs: whether runs are recorded as CUDA graphs
                 └ layout, convolutions (networks with convolutions)
"""

from workers.backends.space import takes_float32
from workers.engine.space import Choice, Conditional, Flag, Parameter, Space
from workers.engine.types import Network, Options, TargetSpec

DEFAULT: Options = {"default": True}
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
#: First compute capability with TF32, times 10.
_TF32_FROM = 80


def space_of(network: Network, target: TargetSpec) -> Space:
    """Options worth trying for this network on this GPU."""
    precisions = ("float32", "float16") if takes_float32(network) else ("float32",)
    parameters: dict[str, Parameter] = {
        "default": Flag(),
        "precision": Conditional("default", (False,), Choice(precisions)),
        "graph_optimization": Conditional("precision", ("float32",), Choice(("disable", "all"))),
        "graphs": Conditional("default", (False,), Flag()),
    }
    if has_tf32(target):
        parameters["tf32"] = Conditional("precision", ("float32",), Flag())
    if _CONVOLUTIONS & network.operators.keys():
        parameters["layout"] = Conditional("default", (False,), Choice(("nchw", "nhwc")))
        searches = Choice(("exhaustive", "heuristic", "default"))
        parameters["convolutions"] = Conditional("default", (False,), searches)
    return Space(parameters).with_promising({"default": False, "graphs": True})


def reference_of(network: Network, target: TargetSpec) -> Options:
    """Without optimisations and without TF32."""
    options: Options = {
        "default": False,
        "precision": "float32",
        "graph_optimization": "disable",
        "tf32": False,
        "graphs": False,
        "layout": "nchw",
        "convolutions": "default",
    }
    parameters = space_of(network, target).parameters
    return {name: options[name] for name in parameters}


def has_tf32(target: TargetSpec) -> bool:
    """Whether the GPU supports TF32."""
    generations = [int(f.removeprefix("sm_")) for f in target.features if f.startswith("sm_")]
    return any(generation >= _TF32_FROM for generation in generations)
