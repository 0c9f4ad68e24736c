"""The search space of Inductor.

::

    effort ─ plain:    the defaults of torch.compile
           ├ freezing: constant weights, folded and packed for the kernels
           └ max-autotune: freezing, and several kernels timed for each product
    precision ─ float32, bfloat16 (processors that support it)
    threads
"""

from hpcfair.precisions import PRECISION_OF
from workers.backends.space import thread_counts
from workers.engine.space import Choice, Parameter, Space
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
