"""The search space of ONNX Runtime; each distinct configuration occurs once.

::

    default ─ yes: a session without options
            └ no ─ threads ─ all | half: spinning, execution (networks with branches)
                 └ precision ─ float32: graph_optimization ─ all: artefact ─ onnx: passes
                             ├ int8-dynamic: per_channel
                             ├ int8-static:  per_channel, quantize
                             └ float16, bfloat16 (ARM64 processors that gain)
"""

from workers.backends.space import (
    QUANTISED,
    attends,
    has_fast_algorithm,
    may_concatenate_channels,
    may_shuffle_channels,
    takes_float32,
    thread_counts,
)
from workers.engine.space import Choice, Conditional, Flag, Parameter, Space
from workers.engine.types import Network, Options, TargetSpec

DEFAULT: Options = {"default": True}

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
#: Operators that ONNX Runtime computes in its blocked layout, NCHWc.
_BLOCKED = frozenset({"Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"})
_PRODUCTS = frozenset({"MatMul", "Gemm"})
#: Operators that join or split branches, without which no two operators can run in parallel.
_BRANCHING = frozenset(
    {"Add", "Mul", "Sub", "Div", "Concat", "Sum", "Split", "Attention", "Max", "Min", "Where"}
)

#: Operators whose arithmetic is faster in int8.
HEAVY = ("Conv", "ConvTranspose", "Gemm", "MatMul")
#: Operators that would otherwise require conversions to float32 between those. Normalisation,
#: softmax and other activations stay in float32: they take little time and lose much accuracy.
BETWEEN = (
    *("Add", "AveragePool", "Clip", "Concat", "Flatten", "GlobalAveragePool", "MaxPool", "Pad"),
    *("Relu", "Reshape", "Resize", "Split", "Squeeze", "Transpose", "Unsqueeze"),
)
#: Spinning threads start sooner; scales per channel take little time and preserve accuracy.
_FAST: Options = {"default": False, "spinning": True}
_EXACT: Options = {"precision": "float32", "graph_optimization": "all"}
#: In order of the time that they take to build.
_PROMISING: tuple[Options, ...] = (
    {**_EXACT, "artefact": "rewritten"},
    {**_EXACT, "artefact": "fast-convolutions"},
    {"precision": "int8-dynamic", "per_channel": True},
    {"precision": "int8-static", "per_channel": True},
)
#: MACs below which one thread is faster than two: a second thread starts too late. The example for
#: handwritten digits takes 30 us on two threads and 27 us on one.
_SMALL_MACS = 5_000_000
_ARITHMETIC_BETWEEN = frozenset({"Add", "AveragePool", "Concat", "GlobalAveragePool", "MaxPool"})


def space_of(network: Network, target: TargetSpec) -> Space:
    """Options worth trying for this network on this target."""
    operators = frozenset(network.operators)
    threads = thread_counts(target.cores)
    parameters: dict[str, Parameter] = {
        "default": Flag(),
        "threads": Conditional("default", (False,), Choice(threads)),
        "precision": Conditional("default", (False,), Choice(_precisions(network, target))),
        "graph_optimization": Conditional(
            "precision", ("float32",), Choice(_optimizations(operators))
        ),
        "artefact": Conditional(
            "graph_optimization", ("all",), Choice(_artefacts(network, operators))
        ),
    }
    if lists := network.passes.get("onnxruntime"):
        passes = Choice(("default", *(each for each in lists if each != "default")))
        parameters["passes"] = Conditional("artefact", ("onnx",), passes)
    # These options have no effect on a single thread.
    several = tuple(name for name in threads if name != "one")
    if several:
        parameters["spinning"] = Conditional("threads", several, Flag())
        if operators & _BRANCHING:
            parallel = Choice(("sequential", "parallel"))
            parameters["execution"] = Conditional("threads", several, parallel)
    quantised = tuple(p for p in _precisions(network, target) if p.startswith("int8"))
    if quantised:
        parameters["per_channel"] = Conditional("precision", quantised, Flag())
    if "int8-static" in quantised and operators & _ARITHMETIC_BETWEEN:
        parameters["quantize"] = Conditional(
            "precision", ("int8-static",), Choice(("heavy", "between"))
        )
    fast = {**_FAST, "threads": "one"} if _is_small(network) else _FAST
    return Space(parameters).with_promising(*({**fast, **wish} for wish in _promising(network)))


def _promising(network: Network) -> tuple[Options, ...]:
    """Promising options; a small network is tried unchanged first.

    Sums of attention stay in float32: a token of small values, such as the class token of a vision
    transformer, would share the range of all others and be rounded away before its normalisation.
    """
    quantised = "heavy" if attends(network) else "between"
    promising = ({**wish, "quantize": quantised} for wish in _PROMISING)
    return ({**_EXACT, "artefact": "onnx"}, *promising) if _is_small(network) else (*promising,)


def _is_small(network: Network) -> bool:
    return network.macs is not None and network.macs < _SMALL_MACS


def reference_of(network: Network, target: TargetSpec) -> Options:
    """Without optimisations, operators in sequence."""
    options: Options = {
        "default": False,
        "threads": thread_counts(target.cores)[0],
        "precision": "float32",
        "graph_optimization": "disable",
        "spinning": False,
        "execution": "sequential",
    }
    parameters = space_of(network, target).parameters
    return {name: options[name] for name in parameters if name in options}


def optimised_of(network: Network, target: TargetSpec) -> Options:
    """With all optimisations, on all cores: the options that lists of passes are compared with."""
    options: Options = {
        **reference_of(network, target),
        "graph_optimization": "all",
        "artefact": "onnx",
    }
    if "spinning" in options:
        options["spinning"] = True
    return options


def _optimizations(operators: frozenset[str]) -> tuple[str, ...]:
    """Levels of graph optimisation that differ for this network.

    Levels above ``extended`` add blocked layouts, for convolutions and pooling only. ``layout`` is
    left out: ``all`` differs from it for float16 kernels only.
    """
    if operators & _BLOCKED:
        return ("disable", "basic", "extended", "all")
    return ("disable", "basic", "all")


def _artefacts(network: Network, operators: frozenset[str]) -> tuple[str, ...]:
    """Kinds of file. All but the rewritten ones run equally fast; they load faster from left to
    right. ``fast-convolutions`` is rewritten too; it is larger and takes longer to load.

    ORT files load as they were saved, so one with blocked layouts would fit only processors with
    the same vector length, which a target does not guarantee.
    """
    rewritten: tuple[str, ...] = ("rewritten",) if _is_rewritable(network) else ()
    if takes_float32(network) and has_fast_algorithm(network):
        rewritten = (*rewritten, "fast-convolutions")
    if not operators & _BLOCKED:
        return ("onnx", "optimized", "ort", *rewritten)
    return ("onnx", "optimized", *rewritten)


def _is_rewritable(network: Network) -> bool:
    """Whether :mod:`workers.backends.rewrites` may find something to rewrite."""
    if not takes_float32(network):
        return False
    if "Softmax" in network.operators and attends(network):
        return True
    if "Conv" not in network.operators:
        return False
    normalises = "LRN" in network.operators
    return normalises or may_concatenate_channels(network) or may_shuffle_channels(network)


def _precisions(network: Network, target: TargetSpec) -> tuple[str, ...]:
    """Precisions that can be faster for this network on this target.

    Not float16 and bfloat16 on x86-64: ONNX Runtime's CPU kernels convert to float32 and back
    around every operator.
    """
    operators = network.operators
    precisions = ["float32"]
    if not QUANTISED & operators.keys() and takes_float32(network):
        convolutions = sum(operators.get(name, 0) for name in _CONVOLUTIONS)
        products = sum(operators.get(name, 0) for name in _PRODUCTS)
        # There is no fast kernel for convolutions with ranges determined at run time.
        if products + operators.get("LSTM", 0) > convolutions:
            precisions.append("int8-dynamic")
        if products or convolutions:
            precisions.append("int8-static")
        if target.architecture == "arm64":
            precisions += [
                precision
                for precision, feature in (("float16", "asimdhp"), ("bfloat16", "bf16"))
                if feature in target.features and (products or convolutions)
            ]
    return tuple(precisions)
