"""Passes by name, and the legal orders of them.

A pipeline is the value of the option ``passes``: ``default`` for TVM's pipeline for CPUs, ``full``
for :data:`FULL`, ``channels_last`` for :data:`CHANNELS_LAST`, or an ordered list of names of
:data:`PASSES` joined by commas: TVM's passes and our ``FoldWeights`` (:mod:`.fold`). The passes
that every network needs to become a program of the virtual machine are added automatically
(:data:`HEAD`, :data:`TAIL`).

Does not import TVM, so that studies can use it in any process; only :func:`make` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workers.engine.errors import InvalidCandidate

OPTION_DEFAULT = "default"
OPTION_FULL = "full"
OPTION_CHANNELS_LAST = "channels_last"


@dataclass(frozen=True, slots=True)
class Rule:
    """Constraints on the position of a pass.

    Attributes:
        after: Passes that must have run before it.
        before: Passes that must not have run before it.
        with_later: Passes that must follow it.
        repeats: Whether it may occur several times.
    """

    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    with_later: tuple[str, ...] = ()
    repeats: bool = False


#: Rewrites of graphs of operators: without effect once operators are loops.
_GRAPH = Rule(before=("LegalizeOps",))
#: Clean-ups, possible until loops are fused.
_ANYWHERE = Rule(before=("FuseOps",), repeats=True)
_LATE = Rule(after=("LegalizeOps",))

#: Every pass with its rule; ``LegalizeOps`` must be in every pipeline.
PASSES: dict[str, Rule] = {
    "DecomposeOpsForInference": _GRAPH,
    # It scales weights along their first axis, which must be that of output channels.
    "FoldBatchnormToConv2D": Rule(
        before=("DecomposeOpsForInference", "ConvertLayout", "LegalizeOps")
    ),
    "ConvertLayout": _GRAPH,
    "CanonicalizeBindings": _ANYWHERE,
    "EliminateCommonSubexpr": _ANYWHERE,
    "RemoveRedundantReshape": _GRAPH,
    "ReorderPermuteDimsAfterConcat": _GRAPH,
    "ReorderTakeAfterMatmul": _GRAPH,
    "ExpandMatmulOfSum": _GRAPH,
    "AdjustMatmulOrder": _GRAPH,
    "CombineParallelMatmul": _GRAPH,
    "FoldConstant": _ANYWHERE,
    "FoldWeights": _ANYWHERE,
    "DeadCodeElimination": Rule(repeats=True),
    "LegalizeOps": Rule(),
    "AnnotateTIROpPattern": Rule(after=("LegalizeOps",), before=("FuseOps",)),
    "FuseOps": Rule(after=("AnnotateTIROpPattern",), with_later=("FuseTIR",)),
    "FuseTIR": Rule(after=("FuseOps",)),
    "RewriteDataflowReshape": _LATE,
    "StaticPlanBlockMemory": _LATE,
}
#: Passes of a list that run at fixed positions of :data:`TAIL`; they come last in the list.
_PLACED = ("RewriteDataflowReshape", "StaticPlanBlockMemory")

HEAD = ("DispatchSampling", "DispatchSortScan")
#: From a graph of calls to a program of the virtual machine, in TVM's own order.
TAIL = (
    *("RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"),
    *("StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin"),
    *("ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol"),
)

#: The passes needed to convert operators to a program.
_LOWERING = (*HEAD, "LegalizeOps", *(name for name in TAIL if name not in _PLACED))

#: TVM 0.27's pipeline for CPUs (``tvm.relax.backend.cpu_generic.get_default_pipeline``).
DEFAULT: tuple[str, ...] = (
    *("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    *("RewriteDataflowReshape", "StaticPlanBlockMemory"),
)
#: All of TVM's passes for any network: decompose, fold, legalise, annotate, fuse.
FULL: tuple[str, ...] = (
    *("FoldBatchnormToConv2D", "DecomposeOpsForInference", "CanonicalizeBindings"),
    *("RemoveRedundantReshape", "ReorderPermuteDimsAfterConcat", "ReorderTakeAfterMatmul"),
    *("ExpandMatmulOfSum", "AdjustMatmulOrder", "EliminateCommonSubexpr"),
    *("CombineParallelMatmul", "FoldConstant", "LegalizeOps", "AnnotateTIROpPattern"),
    *("FoldConstant", "DeadCodeElimination", "FuseOps", "FuseTIR", "DeadCodeElimination"),
    *("RewriteDataflowReshape", "StaticPlanBlockMemory"),
)
#: Normalisations are folded into weights first, then layouts change.
_LAYOUT_PASSES = ("FoldBatchnormToConv2D", "DecomposeOpsForInference", "ConvertLayout")
#: For networks with convolutions on a CPU: channels are contiguous in memory, so that a vector
#: instruction computes several of them, for images of any size.
CHANNELS_LAST = (*_LAYOUT_PASSES[:2], "FoldWeights", _LAYOUT_PASSES[2], "FoldWeights", *DEFAULT)
#: TVM's default pipeline, with all constants folded at once.
FOLDED = ("FoldWeights", *DEFAULT)
#: The same with scalars inlined into loops, as in :data:`FULL`: TVM's pass inlines them before
#: operators become loops, and has little else to do after ours.
FOLDED_INTO = ("FoldWeights", "FoldConstant", *DEFAULT)
#: Layouts of images and of weights after ``ConvertLayout``.
_LAYOUTS = {"relax.nn.conv2d": ["NHWC", "HWIO"]}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A legal pipeline, divided where schedules are applied.

    Attributes:
        names: The names in the option.
        body: Passes until all operators are loop nests.
        tail: Passes from there to a program.
    """

    names: tuple[str, ...]
    body: tuple[str, ...]
    tail: tuple[str, ...]


def pipeline_of(passes: str | Sequence[str]) -> Pipeline:
    """The pipeline of an option. Raises InvalidCandidate, which gives the rule, if a name is
    unknown or at an illegal position."""
    names = _names(passes)
    _check(names)
    body = tuple(name for name in names if name not in _PLACED)
    tail = tuple(name for name in TAIL if name not in _PLACED or name in names)
    return Pipeline(names, (*HEAD, *body), tail)


def option_of(names: Sequence[str]) -> str:
    """A list of passes as the value of the option ``passes``; raises as :func:`pipeline_of`."""
    _check(tuple(names))
    return ",".join(names)


def without(names: Sequence[str], dropped: str) -> tuple[str, ...]:
    """``names`` without a pass and all passes that require it; raises InvalidCandidate for a pass
    that every pipeline needs."""
    if dropped == "LegalizeOps":
        raise InvalidCandidate("every pipeline needs LegalizeOps")
    removed = {dropped}
    while True:
        more = {
            name
            for name in names
            if name not in removed
            and removed.intersection((*PASSES[name].after, *PASSES[name].with_later))
        }
        if not more:
            return tuple(name for name in names if name not in removed)
        removed |= more


def with_channels_last(names: Sequence[str]) -> tuple[str, ...]:
    """``names`` after the passes that convert convolutions to channels last."""
    return (*_LAYOUT_PASSES, *(name for name in names if name not in _LAYOUT_PASSES))


def is_legal(names: Sequence[str]) -> bool:
    """Whether the order of the passes is legal."""
    try:
        _check(tuple(names))
    except InvalidCandidate:
        return False
    return True


def make(name: str) -> Any:
    """The ``tvm.transform.Pass`` of a name of :data:`PASSES`, :data:`HEAD` or :data:`TAIL`, or of
    another pass that applying schedules needs."""
    from tvm import relax, transform  # noqa: PLC0415  heavy

    if name == "FoldWeights":
        from workers.backends.tvm.fold import fold_weights  # noqa: PLC0415

        lower = transform.Sequential([make(each) for each in _LOWERING])
        return transform.module_pass(
            lambda module, _: fold_weights(module, lower), opt_level=0, name=name
        )
    if name == "FillPadding":
        from workers.backends.tvm.padding import fill_padding  # noqa: PLC0415

        return transform.module_pass(lambda module, _: fill_padding(module), opt_level=0, name=name)
    if name == "ConvertLayout":
        # ConvertLayout crashes on tuples of constants and on arithmetic of constants.
        clean = ("CanonicalizeBindings", "FoldConstant", "DeadCodeElimination")
        convert = relax.transform.ConvertLayout(_LAYOUTS)
        return transform.Sequential([*map(make, clean), convert], name=name)
    if name == "LegalizeOps":
        from workers.backends.tvm.sizes import legalize_shape_to_tensor  # noqa: PLC0415

        return relax.transform.LegalizeOps({"relax.shape_to_tensor": legalize_shape_to_tensor})
    module = relax.backend if name in HEAD else relax.transform
    return getattr(module, name)()


def _names(passes: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(passes, str):
        return tuple(passes)
    named = {OPTION_DEFAULT: DEFAULT, OPTION_FULL: FULL, OPTION_CHANNELS_LAST: CHANNELS_LAST}
    return named.get(passes) or tuple(passes.split(","))


def _check(names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in PASSES]
    if unknown:
        raise InvalidCandidate(
            f"there is no pass {unknown[0]!r}; available are {', '.join(PASSES)}"
        )
    if "LegalizeOps" not in names:
        raise InvalidCandidate("every pipeline needs LegalizeOps")
    for position, name in enumerate(names):
        rule, earlier, later = PASSES[name], names[:position], names[position + 1 :]
        missing = [other for other in rule.after if other not in earlier]
        if missing:
            raise InvalidCandidate(f"{name} must come after {missing[0]}")
        late = [other for other in rule.before if other in earlier]
        if late:
            raise InvalidCandidate(f"{name} must come before {late[0]}")
        absent = [other for other in rule.with_later if other not in later]
        if absent:
            raise InvalidCandidate(f"{name} needs {absent[0]} after it")
        if name in earlier and not rule.repeats:
            raise InvalidCandidate(f"{name} may occur only once")
        if name in _PLACED and any(other not in _PLACED for other in later):
            raise InvalidCandidate(f"{name} must come after all other passes")
