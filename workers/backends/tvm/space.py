"""The search space of TVM.

::

    shapes ─ open: any size of named dimensions (networks that have some)
           └ fixed: the sizes used for timing; schedules
    passes ─ default | full | channels_last (networks with convolutions)
           └ the portfolio of lists for this architecture class
    llvm, threads
"""

from workers.backends.space import has_open_dimensions, thread_counts
from workers.backends.tvm.passes import OPTION_CHANNELS_LAST, OPTION_DEFAULT, OPTION_FULL
from workers.backends.tvm.targets import LLVM_LEVELS
from workers.engine.space import Choice, Conditional, Parameter, Space
from workers.engine.types import Network, Options, TargetSpec

OPEN, FIXED = "open", "fixed"
UNTUNED, DATABASE = "untuned", "database"


def space_of(network: Network, target: TargetSpec) -> Space:
    """Options worth trying for this network on this target."""
    named = (OPTION_DEFAULT, OPTION_FULL, passes_for_tuning(network))
    passes = dict.fromkeys((*named, *network.passes.get("tvm", ())))
    parameters: dict[str, Parameter] = {
        "shapes": Choice(_shapes(network)),
        "passes": Choice(tuple(passes)),
        "llvm": Choice(LLVM_LEVELS),
        "threads": Choice(thread_counts(target.cores)),
    }
    if network.schedules_path is not None:
        # Schedules need static shapes. "untuned" comes first, because trials of networks without
        # schedules count as such.
        schedules = Choice((UNTUNED, DATABASE))
        parameters["schedules"] = Conditional("shapes", (FIXED,), schedules)
    tuned: Options = {"shapes": FIXED, "passes": passes_for_tuning(network), "schedules": DATABASE}
    if "schedules" not in parameters:
        return Space(parameters)
    return Space(parameters, own=frozenset({"schedules"})).with_promising(tuned)


def cuda_space_of(network: Network) -> Space:
    """Options worth trying on a GPU, where TVM's rules schedule loops instead of a database."""
    passes = (OPTION_DEFAULT, OPTION_FULL, *network.passes.get("tvm_cuda", ()))
    return Space(
        {"shapes": Choice(_shapes(network)), "passes": Choice(tuple(dict.fromkeys(passes)))}
    )


def default_of(network: Network, target: TargetSpec) -> Options:
    """TVM's default pipeline, for all sizes that the network takes."""
    options: Options = {
        "shapes": _shapes(network)[0],
        "passes": OPTION_DEFAULT,
        "llvm": LLVM_LEVELS[0],
        "threads": thread_counts(target.cores)[0],
    }
    if options["shapes"] == FIXED and network.schedules_path is not None:
        options["schedules"] = UNTUNED
    return options


def reference_of(network: Network, target: TargetSpec) -> Options:
    """Machine code without optimisations; fusion of loops does not change the arithmetic."""
    return {**default_of(network, target), "llvm": "O0"}


def passes_for_tuning(network: Network) -> str:
    """The pipeline whose loop nests schedules are searched for. Schedules fit only equal loop
    nests, so candidates with schedules should use it."""
    return OPTION_CHANNELS_LAST if "Conv" in network.operators else OPTION_DEFAULT


def _shapes(network: Network) -> tuple[str, ...]:
    return (OPEN, FIXED) if has_open_dimensions(network) else (FIXED,)
