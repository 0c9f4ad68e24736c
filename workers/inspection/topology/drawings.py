"""Writes the topologies of a revision's networks, while they are inspected."""

import gzip
import json
from pathlib import Path

import onnx

from workers.inspection.flatbuffer import Malformed
from workers.inspection.flow import Flow
from workers.inspection.skeleton import OnnxFailure
from workers.inspection.tflite import open_tflite
from workers.inspection.topology.document import Document, describe, document
from workers.inspection.topology.tflite import read_columns
from workers.inspection.topology.weights import Weights


class Drawings:
    """Topologies as gzipped JSON in a folder.

    Attributes:
        files: Path of a network to the name of its topology's file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[str, str] = {}

    def add(
        self,
        model: onnx.ModelProto,
        shown: str,
        flow: Flow | None,
        weights: Weights,
        warnings: list[str],
    ) -> None:
        """Write the topology of a network. One that cannot be drawn is a warning: everything else
        can be done with it."""
        try:
            self.write(shown, describe(model, shown, flow, weights))
        except (*OnnxFailure, ArithmeticError, AttributeError, MemoryError) as error:
            warnings.append(f"{shown} cannot be drawn: {type(error).__name__}.")

    def add_tflite(self, path: Path, shown: str, warnings: list[str]) -> None:
        """Write the topology of a TensorFlow Lite network; see :meth:`add`."""
        try:
            self.write(shown, document(read_columns(open_tflite(path)), shown, "tflite"))
        except (ValueError, LookupError, ArithmeticError, TypeError, Malformed) as error:
            warnings.append(f"{shown} cannot be drawn: {type(error).__name__}.")

    def write(self, shown: str, document: Document) -> None:
        """Write a topology. Raises ValueError if it is not storable JSON."""
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        name = f"{len(self.files)}.json.gz"
        # No time stamp: equal networks give equal bytes, which are stored once.
        data = gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)
        (self._folder / name).write_bytes(data)
        self.files[shown] = name
