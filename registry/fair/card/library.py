"""Libraries told by the names of files: what proves them, and what contradicts a card's word.

A library that the hub does not know by its files is its author's word: nothing speaks against it.
"""

from collections.abc import Collection

from registry.validation.labels import LIBRARY_FILES

#: Libraries whose files are known by how they end.
_SUFFIXES = {
    "onnx": (".onnx",),
    "onnxruntime": (".onnx",),
    "openvino": (".xml",),
    "tflite": (".tflite",),
    "litert": (".tflite",),
    "gguf": (".gguf",),
    "coreml": (".mlmodel", ".mlpackage"),
}
#: Of them, those that files of that kind prove: XML may be anything.
_PROVEN = ("onnx", "tflite", "gguf", "coreml")
_MARKS = {library: name for name, library in LIBRARY_FILES.items()}


def proven_library(paths: Collection[str]) -> str | None:
    """The library of the only kind of network that is there; ``None`` if there are several."""
    found = [library for library in _PROVEN if _any_ends(paths, _SUFFIXES[library])]
    return found[0] if len(found) == 1 else None


def disproof(library: str, paths: Collection[str]) -> str | None:
    """What in the files contradicts that library, as the end of a sentence; ``None`` if nothing
    does."""
    name = library.casefold()
    suffixes = _SUFFIXES.get(name)
    if suffixes and not _any_ends(paths, suffixes):
        return f"no file ends in {' or '.join(suffixes)}"
    if name in _SUFFIXES or name not in _MARKS or _MARKS[name] in paths:
        return None
    return next((f"{mark} is of {of}" for mark, of in LIBRARY_FILES.items() if mark in paths), None)


def _any_ends(paths: Collection[str], suffixes: tuple[str, ...]) -> bool:
    return any(path.casefold().endswith(suffixes) for path in paths)
