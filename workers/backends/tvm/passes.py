"""The passes over a network, by name, and which orders of them are legal.

A pipeline is the value of the option ``passes``: ``default`` for what TVM runs on a CPU, ``full``
for :data:`FULL`, ``channels_last`` for :data:`CHANNELS_LAST`, or a comma-joined ordered list of
names of :data:`PASSES`: TVM's, and ``FoldWeights``, which is ours (:mod:`.fold`). What every
network needs to become a program of the virtual machine is added by itself (:data:`HEAD`,
:data:`TAIL`).

Knows no TVM, so that whoever studies pipelines can, in any process; :func:`make` imports it.
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
    """Where a pass may stand.

    Attributes:
        after: Passes that must have run before it.
        before: Passes that must not have run before it.
        with_later: Passes that must follow it.
        repeats: Whether it may stand several times.
    """

    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    with_later: tuple[str, ...] = ()
    repeats: bool = False


#: Rewrites of graphs of operators: pointless once operators have become loops.
_GRAPH = Rule(before=("LegalizeOps",))
#: Clean-ups at any moment until loops are fused.
_ANYWHERE = Rule(before=("FuseOps",), repeats=True)
_LATE = Rule(after=("LegalizeOps",))

#: Every pass with its rule; ``LegalizeOps`` must be in every pipeline.
PASSES: dict[str, Rule] = {
    "DecomposeOpsForInference": _GRAPH,
    # It scales weights along their first axis, which must still be that of output channels.
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
#: Run at fixed places of :data:`TAIL` wherever the list has them; they stand behind all others.
_PLACED = ("RewriteDataflowReshape", "StaticPlanBlockMemory")

HEAD = ("DispatchSampling", "DispatchSortScan")
#: From a graph of calls to a program of the virtual machine, in TVM's own order.
TAIL = (
    *("RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"),
    *("StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin"),
    *("ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol"),
)

#: From operators to a program, and no more than it takes.
_LOWERING = (*HEAD, "LegalizeOps", *(name for name in TAIL if name not in _PLACED))

#: What TVM 0.27 runs for a CPU (``tvm.relax.backend.cpu_generic.get_default_pipeline``).
DEFAULT: tuple[str, ...] = (
    *("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    *("RewriteDataflowReshape", "StaticPlanBlockMemory"),
)
#: All that TVM offers to networks of any kind: decompose, fold, legalise, annotate, fuse.
FULL: tuple[str, ...] = (
    *("FoldBatchnormToConv2D", "DecomposeOpsForInference", "CanonicalizeBindings"),
    *("RemoveRedundantReshape", "ReorderPermuteDimsAfterConcat", "ReorderTakeAfterMatmul"),
    *("ExpandMatmulOfSum", "AdjustMatmulOrder", "EliminateCommonSubexpr"),
    *("CombineParallelMatmul", "FoldConstant", "LegalizeOps", "AnnotateTIROpPattern"),
    *("FoldConstant", "DeadCodeElimination", "FuseOps", "FuseTIR", "DeadCodeElimination"),
    *("RewriteDataflowReshape", "StaticPlanBlockMemory"),
)
#: Normalisation goes into weights first, then layouts change.
_LAID_OUT = ("FoldBatchnormToConv2D", "DecomposeOpsForInference", "ConvertLayout")
#: For networks with convolutions on a CPU: neighbouring channels lie side by side in memory, so
#: that one vector instruction computes many of them, whatever the size of the picture.
CHANNELS_LAST = (*_LAID_OUT[:2], "FoldWeights", _LAID_OUT[2], "FoldWeights", *DEFAULT)
#: TVM's own, with constants folded at once.
FOLDED = ("FoldWeights", *DEFAULT)
#: The same with single numbers put into loops, as :data:`FULL` has them: TVM's pass does it before
#: operators become loops, and has little else to do behind ours.
FOLDED_INTO = ("FoldWeights", "FoldConstant", *DEFAULT)
#: Layouts of pictures and of weights that ``ConvertLayout`` makes.
_LAYOUTS = {"relax.nn.conv2d": ["NHWC", "HWIO"]}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A legal pipeline in the order it runs, cut where schedules are put in.

    Attributes:
        names: As in the option.
        body: Until every operator is a loop nest of its own or fused with others.
        tail: From there to a program.
    """

    names: tuple[str, ...]
    body: tuple[str, ...]
    tail: tuple[str, ...]


def pipeline_of(passes: str | Sequence[str]) -> Pipeline:
    """The pipeline an option means.

    Raises:
        InvalidCandidate: a name is unknown, or stands where it may not; says which and why.
    """
    names = _names(passes)
    _check(names)
    body = tuple(name for name in names if name not in _PLACED)
    tail = tuple(name for name in TAIL if name not in _PLACED or name in names)
    return Pipeline(names, (*HEAD, *body), tail)


def option_of(names: Sequence[str]) -> str:
    """A list of passes as the value of the option ``passes``.

    Raises:
        InvalidCandidate: see :func:`pipeline_of`.
    """
    _check(tuple(names))
    return ",".join(names)


def without(names: Sequence[str], dropped: str) -> tuple[str, ...]:
    """``names`` without one pass and without all that cannot stand without it.

    Raises:
        InvalidCandidate: every pipeline needs the pass.
    """
    if dropped == "LegalizeOps":
        raise InvalidCandidate("every pipeline needs LegalizeOps")
    gone = {dropped}
    while True:
        more = {
            name
            for name in names
            if name not in gone
            and gone.intersection((*PASSES[name].after, *PASSES[name].with_later))
        }
        if not more:
            return tuple(name for name in names if name not in gone)
        gone |= more


def laid_out(names: Sequence[str]) -> tuple[str, ...]:
    """``names`` behind the passes that put channels last."""
    return (*_LAID_OUT, *(name for name in names if name not in _LAID_OUT))


def is_legal(names: Sequence[str]) -> bool:
    """Whether the passes may run in this order."""
    try:
        _check(tuple(names))
    except InvalidCandidate:
        return False
    return True


def make(name: str) -> Any:
    """The ``tvm.transform.Pass`` of a name of :data:`PASSES`, :data:`HEAD` or :data:`TAIL`.

    Or of what applying schedules takes.
    """
    # The heavy library, and only where passes really run.
    from tvm import relax, transform  # noqa: PLC0415

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
        # Tuples with constants and arithmetic on constants alone crash it.
        clean = ("CanonicalizeBindings", "FoldConstant", "DeadCodeElimination")
        convert = relax.transform.ConvertLayout(_LAYOUTS)
        return transform.Sequential([*map(make, clean), convert], name=name)
    room = relax.backend if name in HEAD else relax.transform
    return getattr(room, name)()


def _names(passes: str | Sequence[str]) -> tuple[str, ...]:
    if not isinstance(passes, str):
        return tuple(passes)
    named = {OPTION_DEFAULT: DEFAULT, OPTION_FULL: FULL, OPTION_CHANNELS_LAST: CHANNELS_LAST}
    return named.get(passes) or tuple(passes.split(","))


def _check(names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in PASSES]
    if unknown:
        raise InvalidCandidate(f"no pass is called {unknown[0]!r}; known are {', '.join(PASSES)}")
    if "LegalizeOps" not in names:
        raise InvalidCandidate("every pipeline needs LegalizeOps")
    for at, name in enumerate(names):
        rule, earlier, later = PASSES[name], names[:at], names[at + 1 :]
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
            raise InvalidCandidate(f"{name} may stand only once")
        if name in _PLACED and any(other not in _PLACED for other in later):
            raise InvalidCandidate(f"{name} must come behind all other passes")
