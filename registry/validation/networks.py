"""Which files the hub looks into as networks."""

from collections.abc import Iterable

#: Inspection reads the first kind there is; the others beside it are forms of the same network.
SUFFIXES = (".onnx", ".tflite")


def has_network(paths: Iterable[str]) -> bool:
    """Whether there is a network among the files."""
    return any(path.lower().endswith(SUFFIXES) for path in paths)
