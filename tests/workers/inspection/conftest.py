"""A folder to publish into, and a short way to inspect it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from hpcfair.tickets import GraphFacts
from workers.inspection.errors import InspectionError
from workers.inspection.inspect import read_graph


def facts_of(folder: Path, name: str, warnings: list[str] | None = None) -> GraphFacts:
    """Facts of a file, by name."""
    return GraphFacts(**read_graph(folder, name, warnings if warnings is not None else []))


Read = Callable[..., GraphFacts]
Refusal = Callable[[onnx.ModelProto | bytes], InspectionError]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Facts of a model, written to a file first."""

    def facts(model: onnx.ModelProto, warnings: list[str] | None = None) -> GraphFacts:
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
        return facts_of(tmp_path, "model.onnx", warnings)

    return facts


@pytest.fixture
def refusal(tmp_path: Path) -> Refusal:
    """The error that a model, or the bytes of one, is refused with."""

    def error(model: Any) -> InspectionError:
        data = model if isinstance(model, bytes) else model.SerializeToString()
        (tmp_path / "model.onnx").write_bytes(data)
        with pytest.raises(InspectionError) as caught:
            read_graph(tmp_path, "model.onnx", [])
        return caught.value

    return error
