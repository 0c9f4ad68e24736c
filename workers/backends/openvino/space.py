"""What OpenVINO can try with a network, each distinct configuration once.

::

    threads ─ all | half: pinning
    shapes (networks with open dimensions)
    artefact ─ onnx | rewritten (networks that may shuffle channels)
    precision ─ float32
              ├ bfloat16, float16 (processors that multiply in them)
              └ int8: preset, smoothing (transformers), rest (processors with bfloat16)
"""

from workers.backends.space import QUANTISED, has_open_dimensions, takes_float32, thread_counts
from workers.engine.space import Choice, Conditional, Flag, Parameter, Space
from workers.engine.types import Network, Options, TargetSpec

#: What each precision needs of the processor, any one of them.
_FEATURES: dict[str, frozenset[str]] = {
    "bfloat16": frozenset({"avx512_bf16", "amx_bf16"}),
    "float16": frozenset({"avx512_fp16", "amx_fp16", "asimdhp"}),
}
#: Operators whose arithmetic a lower precision makes faster.
_HEAVY = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "Attention"})
#: Of these, what NNCF quantises.
_QUANTISABLE = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})
_TRANSFORMER = "transformer"
#: What a shuffle of channels consists of, and what takes it in.
_SHUFFLE = frozenset({"Reshape", "Transpose", "Conv"})
#: Known shapes let the compiler choose layouts once; of the presets, "mixed" keeps activations
#: unsigned, as the dot product instructions of x86-64 want them.
_FAST: Options = {"pinning": True, "shapes": "static"}
_SHUFFLED: tuple[Options, ...] = (
    {**_FAST, "precision": "int8", "preset": "mixed", "artefact": "rewritten"},
    {**_FAST, "precision": "float32", "artefact": "rewritten"},
)
_PROMISING: tuple[Options, ...] = (
    {**_FAST, "precision": "int8", "preset": "mixed"},
    {**_FAST, "precision": "bfloat16"},
    {**_FAST, "precision": "float16"},
    {**_FAST, "precision": "float32"},
)
#: Two cores of a virtual machine may be the two threads of one: there a second thread of ours gains
#: little, and has to be waited for after every operator.
_ALONE: tuple[Options, ...] = (
    {**_FAST, "precision": "float32", "threads": "one"},
    {**_FAST, "precision": "int8", "preset": "performance", "threads": "one"},
)
_FEW_CORES = 2


def space_of(network: Network, target: TargetSpec) -> Space:
    """Options worth trying for this network on this target.

    Left out, as they change nothing for one request at a time on a CPU: streams beside the first,
    and with a fixed precision the execution mode.
    """
    threads = thread_counts(target.cores)
    precisions = _precisions(network, target)
    parameters: dict[str, Parameter] = {
        "threads": Choice(threads),
        "precision": Choice(precisions),
    }
    several = tuple(name for name in threads if name != "one")
    if several:
        parameters["pinning"] = Conditional("threads", several, Flag())
    if has_open_dimensions(network):
        parameters["shapes"] = Choice(("dynamic", "static"))
    if network.operators.keys() >= _SHUFFLE and precisions != ("float32",):
        parameters["artefact"] = Choice(("onnx", "rewritten"))
    if "int8" in precisions:
        parameters["preset"] = _of_int8(Choice(("performance", "mixed")))
        if is_transformer(network):
            parameters["smoothing"] = _of_int8(Flag())
        if "bfloat16" in precisions:
            parameters["rest"] = _of_int8(Choice(("float32", "bfloat16")))
    wishes = (*_PROMISING, *_ALONE) if target.cores <= _FEW_CORES else _PROMISING
    first = _SHUFFLED if "artefact" in parameters else ()
    return Space(parameters).with_promising(*first, *wishes)


def default_of(network: Network, target: TargetSpec) -> Options:
    """``compile_model(path, "CPU")``, but for the precision, which would depend on the machine."""
    options: Options = {
        "threads": thread_counts(target.cores)[0],
        "precision": "float32",
        "pinning": True,
        "shapes": "dynamic",
        "artefact": "onnx",
    }
    known = space_of(network, target).parameters
    return {name: options[name] for name in known if name in options}


def is_transformer(network: Network) -> bool:
    """Whether the inspection found it to be one."""
    return network.architecture_class == _TRANSFORMER


def _of_int8(parameter: Choice | Flag) -> Conditional:
    return Conditional("precision", ("int8",), parameter)


def _precisions(network: Network, target: TargetSpec) -> tuple[str, ...]:
    """Precisions that may pay here: of networks in float32 that are not quantised already."""
    operators = network.operators.keys()
    if operators & QUANTISED or not operators & _HEAVY or not takes_float32(network):
        return ("float32",)
    found = [name for name, wanted in _FEATURES.items() if wanted & target.features]
    int8 = ["int8"] if operators & _QUANTISABLE else []
    return ("float32", *found, *int8)
