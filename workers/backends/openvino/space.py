"""The search space of OpenVINO; each distinct configuration occurs once.

::

    threads ─ all | half: pinning
    shapes (networks with dynamic dimensions that can be fixed)
    artefact ─ onnx | rewritten (networks that may have channel shuffles)
    precision ─ float32
              ├ bfloat16, float16 (processors that support them)
              ├ int8: preset, smoothing (transformers), rest (processors with bfloat16)
              └ mixed, by layer: limit (on the error), rest (processors with bfloat16)
"""

from workers.backends.space import (
    QUANTISED,
    may_fix_dimensions,
    may_shuffle_channels,
    takes_float32,
    thread_counts,
)
from workers.engine.space import Choice, Conditional, Flag, Parameter, Space
from workers.engine.trials import LIMIT
from workers.engine.types import Network, Options, TargetSpec

#: Processor features by precision; any one of them suffices.
_FEATURES: dict[str, frozenset[str]] = {
    "bfloat16": frozenset({"avx512_bf16", "amx_bf16"}),
    "float16": frozenset({"avx512_fp16", "amx_fp16", "asimdhp"}),
}
#: Operators whose arithmetic is faster in reduced precision.
_HEAVY = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "Attention"})
#: Operators that NNCF quantises.
_QUANTISABLE = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})
_TRANSFORMER = "transformer"
#: With static shapes the compiler chooses layouts once. The preset "mixed" keeps activations
#: unsigned, as the dot product instructions of x86-64 require.
_FAST: Options = {"pinning": True, "shapes": "static"}
_SHUFFLED: tuple[Options, ...] = (
    {**_FAST, "precision": "int8", "preset": "mixed", "artefact": "rewritten"},
    {**_FAST, "precision": "float32", "artefact": "rewritten"},
)
#: What is built in a second comes first: a search may end before ranges are calibrated.
_PROMISING: tuple[Options, ...] = (
    {**_FAST, "precision": "bfloat16"},
    {**_FAST, "precision": "float16"},
    {**_FAST, "precision": "float32"},
    {**_FAST, "precision": "int8", "preset": "mixed"},
)
#: Errors to keep to. Those between the usual limits are for networks whose error on the inputs of
#: the check differs from that on those of the calibration: searches try one that fits better then.
_LIMITS = (0.005, 0.006, 0.007, 0.0085, 0.01, 0.011, 0.012, 0.013, 0.014, 0.016, 0.018, 0.02, 0.024)
_MIXED: tuple[Options, ...] = tuple(
    {**_FAST, "precision": "mixed", "rest": "bfloat16", LIMIT: limit}
    for limit in (0.01, 0.02, 0.005)
)
#: Two cores of a virtual machine may be hyperthreads of one physical core: a second thread then
#: gains little and synchronises after every operator.
_ONE_THREAD: tuple[Options, ...] = (
    {**_FAST, "precision": "float32", "threads": "one"},
    {**_FAST, "precision": "int8", "preset": "performance", "threads": "one"},
)
_FEW_CORES = 2


def space_of(network: Network, target: TargetSpec) -> Space:
    """Options worth trying for this network on this target.

    Without options that have no effect for one request at a time on a CPU: further streams, and the
    execution mode, which the precision determines.
    """
    threads = thread_counts(target.cores)
    precisions = _precisions(network, target)
    parameters: dict[str, Parameter] = {"threads": Choice(threads), "precision": Choice(precisions)}
    several = tuple(name for name in threads if name != "one")
    if several:
        parameters["pinning"] = Conditional("threads", several, Flag())
    if may_fix_dimensions(network):
        parameters["shapes"] = Choice(("dynamic", "static"))
    if may_shuffle_channels(network) and precisions != ("float32",):
        parameters["artefact"] = Choice(("onnx", "rewritten"))
    if "int8" in precisions:
        parameters["preset"] = _of_int8(Choice(("performance", "mixed")))
        if is_transformer(network):
            parameters["smoothing"] = _of_int8(Flag())
        if "bfloat16" in precisions:
            rest = Choice(("float32", "bfloat16"))
            parameters["rest"] = Conditional("precision", ("int8", "mixed"), rest)
        parameters[LIMIT] = Conditional("precision", ("mixed",), Choice(_LIMITS))
    one_thread = _ONE_THREAD if target.cores <= _FEW_CORES else ()
    first = _SHUFFLED if "artefact" in parameters else ()
    artefact: Options = {"artefact": "rewritten"} if first else {}
    mixed = ({**each, **artefact} for each in _MIXED)
    return Space(parameters).with_promising(*first, *_PROMISING, *mixed, *one_thread)


def default_of(network: Network, target: TargetSpec) -> Options:
    """``compile_model(path, "CPU")`` in float32; OpenVINO's own default depends on the machine."""
    options: Options = {
        "threads": thread_counts(target.cores)[0],
        "precision": "float32",
        "pinning": True,
        "shapes": "dynamic",
        "artefact": "onnx",
    }
    parameters = space_of(network, target).parameters
    return {name: options[name] for name in parameters if name in options}


def is_transformer(network: Network) -> bool:
    """Whether inspection classified the network as a transformer."""
    return network.architecture_class == _TRANSFORMER


def _of_int8(parameter: Choice | Flag) -> Conditional:
    return Conditional("precision", ("int8",), parameter)


def _precisions(network: Network, target: TargetSpec) -> tuple[str, ...]:
    """Precisions that can be faster here; only float32 networks are converted."""
    operators = network.operators.keys()
    if operators & QUANTISED or not operators & _HEAVY or not takes_float32(network):
        return ("float32",)
    supported = [name for name, features in _FEATURES.items() if features & target.features]
    int8 = ["int8", "mixed"] if operators & _QUANTISABLE else []
    return ("float32", *supported, *int8)
