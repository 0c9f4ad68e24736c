"""The search space of Inductor.

::

    effort ─ plain:    the defaults of torch.compile
           ├ freezing: constant weights, folded and packed for the kernels
           └ max-autotune: freezing, and several kernels timed for each product
    precision ─ float32, bfloat16 (processors that support it)
    threads

On GPUs::

    effort ─ plain, max-autotune
    precision ─ float32: tf32 (GPUs that have it)
              ├ float16
              └ bfloat16 (GPUs that have TF32 have it, too)
    graphs: whether runs are recorded as CUDA graphs
"""

from hpcfair.precisions import PRECISION_OF
from workers.backends.onnxruntime_cuda.space import has_tf32
from workers.backends.space import thread_counts
from workers.engine.space import Choice, Conditional, Flag, Parameter, Space
from workers.engine.types import Options, TargetSpec

_BFLOAT16 = PRECISION_OF["bf16"].features


def space_of(target: TargetSpec) -> Space:
    """Options worth trying on this target, for any network."""
    precisions = ("float32", "bfloat16") if _BFLOAT16 & target.features else ("float32",)
    parameters: dict[str, Parameter] = {
        "effort": Choice(("plain", "freezing", "max-autotune")),
        "precision": Choice(precisions),
        "threads": Choice(thread_counts(target.cores)),
    }
    return Space(parameters).with_promising({"effort": "freezing"})


def default_of(target: TargetSpec) -> Options:
    """``torch.compile`` without options."""
    return {"effort": "plain", "precision": "float32", "threads": thread_counts(target.cores)[0]}


def cuda_space_of(target: TargetSpec) -> Space:
    """Options worth trying on this GPU, for any network."""
    is_ampere = has_tf32(target)
    precisions = ("float32", "float16", "bfloat16") if is_ampere else ("float32", "float16")
    parameters: dict[str, Parameter] = {
        "effort": Choice(("plain", "max-autotune")),
        "precision": Choice(precisions),
        "graphs": Flag(),
    }
    if is_ampere:
        parameters["tf32"] = Conditional("precision", ("float32",), Flag())
    return Space(parameters).with_promising({"graphs": True})


def cuda_default_of(target: TargetSpec) -> Options:
    """``torch.compile`` without options."""
    options: Options = {
        "effort": "plain",
        "precision": "float32",
        "graphs": False,
        "tf32": False,
    }
    return {name: options[name] for name in cuda_space_of(target).parameters}
