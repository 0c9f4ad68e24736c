"""What ONNX Runtime can try with a network, each distinct configuration once.

::

    default ─ yes: as a user gets it who sets nothing
            └ no ─ threads ─ all | half: spinning, execution (networks with branches)
                 └ precision ─ float32: graph_optimization ─ all: artefact ─ onnx: passes
                             ├ int8-dynamic: per_channel
                             ├ int8-static:  per_channel, quantize
                             └ float16, bfloat16 (ARM64 processors that gain)
"""

from workers.backends.space import QUANTISED, takes_float32, thread_counts
from workers.engine.space import Choice, Conditional, Flag, Parameter, Space
from workers.engine.types import Network, Options, TargetSpec

DEFAULT: Options = {"default": True}

_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
#: Operators that ONNX Runtime computes in its blocked layout NCHWc.
_BLOCKED = frozenset({"Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"})
_PRODUCTS = frozenset({"MatMul", "Gemm"})
#: Two operators can only run side by side if some operator joins or splits what they work on.
_BRANCHING = frozenset(
    {"Add", "Mul", "Sub", "Div", "Concat", "Sum", "Split", "Attention", "Max", "Min", "Where"}
)

#: Operators whose arithmetic int8 makes faster, by themselves.
HEAVY = ("Conv", "ConvTranspose", "Gemm", "MatMul")
#: Operators that otherwise would force a way back to float32 between two of those. Normalisation,
#: softmax and activations other than these stay in float32: they cost little and lose much.
BETWEEN = (
    *("Add", "AveragePool", "Clip", "Concat", "Flatten", "GlobalAveragePool", "MaxPool", "Pad"),
    *("Relu", "Reshape", "Resize", "Split", "Squeeze", "Transpose", "Unsqueeze"),
)
#: Spinning threads start sooner; a scale for each channel costs little and keeps accuracy.
_FAST: Options = {"default": False, "spinning": True}
_EXACT: Options = {"precision": "float32", "graph_optimization": "all"}
_PROMISING: tuple[Options, ...] = (
    {"precision": "int8-static", "per_channel": True, "quantize": "between"},
    {"precision": "int8-dynamic", "per_channel": True},
    {**_EXACT, "artefact": "rewritten"},
    {**_EXACT, "artefact": "optimized"},
)
#: Multiplications of a network that ends before a second thread has joined in: of 30 us that the
#: digits' network takes on two threads, one thread saves 3.
_SMALL_MACS = 5_000_000
#: What :mod:`workers.backends.rewrites` starts from, beside convolutions.
_REWRITTEN = frozenset({"Concat", "LRN", "Transpose"})
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
    # A single thread has no other to wait for, or to share branches with.
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
    return Space(parameters).with_promising(*({**fast, **wish} for wish in _wishes(network)))


def _wishes(network: Network) -> tuple[Options, ...]:
    """What is promising; of a small network that nothing is rewritten of, first as it is."""
    return ({**_EXACT, "artefact": "onnx"}, *_PROMISING) if _is_small(network) else _PROMISING


def _is_small(network: Network) -> bool:
    return network.macs is not None and network.macs < _SMALL_MACS


def reference_of(network: Network, target: TargetSpec) -> Options:
    """Every optimisation off, operators one after another."""
    options: Options = {
        "default": False,
        "threads": thread_counts(target.cores)[0],
        "precision": "float32",
        "graph_optimization": "disable",
        "spinning": False,
        "execution": "sequential",
    }
    known = space_of(network, target).parameters
    return {name: options[name] for name in known if name in options}


def optimised_of(network: Network, target: TargetSpec) -> Options:
    """Every optimisation on, all cores: the options beside which lists of passes are compared."""
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

    Above ``extended`` come blocked layouts, for convolutions and pooling only. ``layout`` is left
    out: what ``all`` does beyond it concerns float16 kernels.
    """
    if operators & _BLOCKED:
        return ("disable", "basic", "extended", "all")
    return ("disable", "basic", "all")


def _artefacts(network: Network, operators: frozenset[str]) -> tuple[str, ...]:
    """Forms of the file. All but ``rewritten`` run alike, and load faster from left to right.

    ORT files load as they were saved, so one with blocked layouts would only fit processors with
    the same vector length, which a target does not promise.
    """
    if not operators & _BLOCKED:
        return ("onnx", "optimized", "ort")
    rewritable = "Conv" in operators and operators & _REWRITTEN and takes_float32(network)
    return ("onnx", "optimized", "rewritten") if rewritable else ("onnx", "optimized")


def _precisions(network: Network, target: TargetSpec) -> tuple[str, ...]:
    """Precisions that may pay here.

    On x86-64, float16 and bfloat16 are not among them: ONNX Runtime's CPU kernels compute both by
    converting to float32 and back around every operator.
    """
    operators = network.operators
    found = ["float32"]
    if not QUANTISED & operators.keys() and takes_float32(network):
        convolutions = sum(operators.get(name, 0) for name in _CONVOLUTIONS)
        products = sum(operators.get(name, 0) for name in _PRODUCTS)
        # Convolutions have no fast kernel for ranges found at run time.
        if products + operators.get("LSTM", 0) > convolutions:
            found.append("int8-dynamic")
        if products or convolutions:
            found.append("int8-static")
        if target.architecture == "arm64":
            found += [
                precision
                for precision, feature in (("float16", "asimdhp"), ("bfloat16", "bf16"))
                if feature in target.features and (products or convolutions)
            ]
    return tuple(found)
