"""File formats of networks and weights.

This table is the only list of formats. The client, the registry and the workers derive from it what
they inspect, label, open and serve. It uses the standard library only.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final, Literal

Contents = Literal["network", "weights"]


@dataclass(frozen=True, slots=True)
class Opener:
    """The runtime that opens a published file without a build.

    Attributes:
        runtime: Name of a runtime of :mod:`hpcfair.runtimes.registry`.
        default: Options of a user who sets nothing; they define the baseline.
        reference: Options without optimisations; they define the reference outputs.
    """

    runtime: str
    default: Mapping[str, str | int | bool] = field(default_factory=dict)
    reference: Mapping[str, str | int | bool] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.reference.items())
        return f"{self.runtime}, {options}"


@dataclass(frozen=True, slots=True)
class FileFormat:
    """One file format.

    Attributes:
        name: As the facts of graphs and the backends spell it.
        suffixes: In lower case, with the dot.
        contents: ``network`` if operators are stored beside weights.
        magic: Offset and bytes by which a file is recognised; ``None`` if there are none.
        opener: Opens a published file; ``None`` if it can only be an alternative format of another
            file, or cannot be run.
        label: Its label in lists of models, as the Hugging Face Hub spells it; empty if none.
        label_pattern: Paths that have the label, if not all with one of the suffixes.
        libraries: Values of a card's ``library_name`` that require such a file. The first one is
            proved by it.
        distinctive: Whether the suffix alone proves the format. ``.xml`` does not.
    """

    name: str
    suffixes: tuple[str, ...]
    contents: Contents
    magic: tuple[int, bytes] | None = None
    opener: Opener | None = None
    label: str = ""
    label_pattern: str = ""
    libraries: tuple[str, ...] = ()
    distinctive: bool = True

    def matches(self, path: str | PurePath) -> bool:
        """Whether a path has one of the suffixes, in upper or lower case."""
        return str(path).lower().endswith(self.suffixes)

    def begins(self, data: bytes) -> bool:
        """Whether the first bytes of a file are those of the format; true if it has none."""
        offset, magic = self.magic or (0, b"")
        return data[offset : offset + len(magic)] == magic

    def is_labelled(self, path: str) -> bool:
        """Whether a file of this path gives its model the format's label."""
        if not self.label:
            return False
        if self.label_pattern:
            return re.fullmatch(self.label_pattern, path) is not None
        return path.endswith(self.suffixes)


#: ONNX Runtime opens a network whose suffix names no other format.
ONNX_RUNTIME: Final = Opener("onnxruntime", {"default": True}, {"graph_optimization": "disable"})

ONNX: Final = FileFormat(
    "onnx",
    (".onnx",),
    "network",
    opener=ONNX_RUNTIME,
    label="onnx",
    libraries=("onnx", "onnxruntime"),
)
TFLITE: Final = FileFormat(
    "tflite",
    (".tflite",),
    "network",
    magic=(4, b"TFL3"),
    opener=Opener("litert", {}, {"kernels": "reference"}),
    label="tflite",
    libraries=("tflite", "litert"),
)
TORCH_EXPORT: Final = FileFormat("torch-export", (".pt2",), "network")

#: In the order of the labels of a model. Of formats with an opener, the first one for which a
#: revision has a file is its network; the others are alternative formats of it.
FORMATS: Final[tuple[FileFormat, ...]] = (
    FileFormat("safetensors", (".safetensors",), "weights", label="safetensors"),
    ONNX,
    FileFormat("ort", (".ort",), "network", magic=(4, b"ORTM")),
    FileFormat(
        "gguf", (".gguf",), "weights", magic=(0, b"GGUF"), label="gguf", libraries=("gguf",)
    ),
    FileFormat(
        "pytorch",
        (".pt", ".pth", ".ckpt"),
        "weights",
        label="pytorch",
        label_pattern=r"(.*/)?pytorch_model[^/]*\.bin|.*\.pth?",
    ),
    FileFormat(
        "keras", (".h5", ".keras"), "weights", label="tf", label_pattern=r"(.*/)?tf_model\.h5"
    ),
    FileFormat(
        "flax",
        (".msgpack",),
        "weights",
        label="jax",
        label_pattern=r"(.*/)?flax_model[^/]*\.msgpack",
    ),
    FileFormat(
        "openvino",
        (".xml",),
        "network",
        label="openvino",
        label_pattern=r"(.*/)?openvino_model\.xml",
        libraries=("openvino",),
        distinctive=False,
    ),
    TFLITE,
    TORCH_EXPORT,
    FileFormat("coreml", (".mlmodel", ".mlpackage"), "network", libraries=("coreml",)),
)
#: Files in the top folder of a model that prepare its inputs and describe its outputs, as
#: ``transformers`` names them. They hold data only.
COMPANIONS: Final = (
    *("config.json", "generation_config.json", "preprocessor_config.json", "processor_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "normalizer.json", "tokenizer.model"),
    *("spiece.model", "sentencepiece.bpe.model", "chat_template.jinja", "chat_template.json"),
)
#: First bytes of files that are mistaken for networks, with what such a file is.
_MISTAKEN: Final[tuple[tuple[bytes, str], ...]] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file it points to"),
    (b"PK\x03\x04", "a zip archive (PyTorch saves such files)"),
    (b"\x80", "a Python pickle"),
    (b"\x89HDF\r\n", "an HDF5 file (Keras saves such files)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"GGUF", "a GGUF file"),
    (b"<", "a web page or another XML file"),
    (b"{", "a JSON file"),
)
#: Globals of the pickles that ``torch.save`` writes for tensors: loading them runs no code of the
#: file's author. PyTorch's restricted loader permits the same. Tensors with attributes, such as the
#: sample inputs of a program with dynamic sizes, are rebuilt from their type.
TENSOR_GLOBALS: Final = frozenset(
    {
        *("collections OrderedDict", "torch Size", "torch device"),
        *("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"),
        *("torch._tensor _rebuild_from_type_v2", "torch Tensor"),
        *(
            f"torch {kind}Storage"
            for kind in (
                *("Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"),
                *("BFloat16", "ComplexFloat", "ComplexDouble", "Untyped"),
            )
        ),
        "torch.storage UntypedStorage",
    }
)
#: Number of first bytes that :func:`mistake_in` looks at.
START_BYTES: Final = max(len(start) for start, _ in _MISTAKEN)
#: Formats that can be a revision's network, in order of preference.
NETWORK_FORMATS: Final = tuple(each for each in FORMATS if each.opener is not None)


def format_of(path: str | PurePath) -> FileFormat | None:
    """The format of a path by its suffix; ``None`` if the suffix proves none."""
    return next((each for each in FORMATS if each.distinctive and each.matches(path)), None)


def opener_of(path: str | PurePath) -> Opener:
    """What opens the published network ``path``; ONNX Runtime for names without a known suffix."""
    file_format = format_of(path)
    return (file_format and file_format.opener) or ONNX_RUNTIME


def mistaken_for(data: bytes) -> str:
    """What a file is that begins with ``data`` and was taken for a network; empty if unknown."""
    return next((kind for start, kind in _MISTAKEN if data.startswith(start)), "")


def mistake_in(path: str | PurePath, data: bytes) -> str:
    """What is wrong with a file named like a network whose first bytes are ``data``.

    Empty if nothing is, or the name is not one of :data:`NETWORK_FORMATS`. No network of these
    formats begins like one of the files that are recognised.
    """
    named = next((each for each in NETWORK_FORMATS if each.matches(path)), None)
    if named is None:
        return ""
    if not data:
        return "empty"
    if kind := mistaken_for(data):
        return kind
    return "" if named.begins(data) else f"not a file of the format {named.name}"


def has_network(paths: Iterable[str]) -> bool:
    """Whether one of the files can be inspected and tuned."""
    return any(each.matches(path) for path in paths for each in NETWORK_FORMATS)
