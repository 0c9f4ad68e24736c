"""Exported PyTorch programs are read without running anything that is in them."""

import copy
import json
import os
import pickle
import stat
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.types import TensorSpec
from workers.inspection.interface import Unusable
from workers.inspection.pt2 import read_pt2
from workers.testing.pt2 import document, tensor_file, write_pt2


class _Runs:
    """Unpickling one calls ``os.system``."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch /tmp/owned",)


def at(path: str, value: Any) -> dict[str, Any]:
    """The document with the value at a dotted path replaced."""
    graph = document()
    *way, last = path.split(".")
    place: Any = graph
    for key in way:
        place = place[int(key) if key.isdigit() else key]
    place[int(last) if last.isdigit() else last] = value
    return graph


def test_a_program_says_what_it_takes_and_gives(tmp_path: Path) -> None:
    found = read_pt2(write_pt2(tmp_path / "model.pt2"))
    assert found.inputs == (TensorSpec("x", "float32", ("?", 8)),)
    assert found.outputs == (TensorSpec("relu", "float32", ("?", 8)),)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pickle.dumps(_Runs(), 2), "would import 'posix system'"),
        (pickle.dumps(_Runs(), 4), "hides what it imports"),
        (b"cbuiltins\neval\n(S'1'\ntR.", "would import 'builtins eval'"),
        (b"(S'1'\nibuiltins\neval\n.", "hides what it imports"),
        (b"ctorch._utils\n_rebuild_tensor\n.", "would import"),
    ],
)
def test_a_pickle_that_would_call_something_is_refused(
    tmp_path: Path, data: bytes, said: str
) -> None:
    with pytest.raises(Unusable, match=said):
        read_pt2(write_pt2(tmp_path / "model.pt2", pickle=data))


def test_a_pickle_of_tensors_passes(tmp_path: Path) -> None:
    data = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nctorch\nFloatStorage\n\x86."
    assert read_pt2(write_pt2(tmp_path / "model.pt2", pickle=data)).inputs


@pytest.mark.slow
def test_the_attributes_of_sample_inputs_of_dynamic_sizes_pass(tmp_path: Path) -> None:
    import torch  # noqa: PLC0415

    sizes = ({0: torch.export.Dim.DYNAMIC},)
    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(2, 8),), dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "model.pt2")
    with zipfile.ZipFile(tmp_path / "model.pt2") as archive:
        (inner,) = [n for n in archive.namelist() if n.endswith("sample_inputs/model.pt")]
        assert b"_rebuild_from_type_v2" in archive.read(inner)
    assert read_pt2(tmp_path / "model.pt2").inputs == (TensorSpec("input", "float32", ("?", 8)),)


NODE = "graph_module.graph.nodes.0"
SIZE = "graph_module.graph.tensor_values.x.sizes.0.as_expr.expr_str"


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (at(SIZE, "__import__('os').system('true')"), "which is not arithmetic"),
        (at(SIZE, "Symbol('s0').__class__"), "which is not arithmetic"),
        (at(SIZE, "Symbol('x); evil(')"), "which is not arithmetic"),
        (at(SIZE, "eval('1')"), "which is not arithmetic"),
        (at(SIZE, "1 +"), "is not an expression"),
        (at(SIZE, "(" * 5000), "is not an expression"),
        (at("guards_code", ["L['x'].size()[0] >= __import__('os').getpid()"]), "has the guard"),
        (at("guards_code", ["open('a')"]), "has the guard"),
        (at(f"{NODE}.target", "torch.hub.load"), "not one of PyTorch's own"),
        (at(f"{NODE}.target", "torch.ops.somebody.op.default"), "not one of PyTorch's own"),
        (at(f"{NODE}.target", "#extension"), "not one of PyTorch's own"),
        (at(f"{NODE}.name", 'x"); system("'), "cannot be trusted"),
        (at(f"{NODE}.name", "x\nimport os"), "cannot be trusted"),
        (
            at("graph_module.module_call_graph.0.signature.in_spec",
               '[1, {"type": "collections.defaultdict", "children_spec": []}]'),
            "takes or gives a collections.defaultdict",
        ),
        (at("graph_module.signature.output_specs.0", {"buffer_mutation": {}}), "side effects"),
        (
            at("graph_module.signature.input_specs.0", {"user_input": {"arg": {"as_int": 1}}}),
            "something else than tensors",
        ),
        (at("graph_module.graph.tensor_values.x.device.type", "cuda"), "move it to the CPU"),
        (at("graph_module.graph.tensor_values.x.dtype", 13), "NumPy does not have"),
        (at("graph_module.graph", None), "not as PyTorch writes it"),
        ([], "not as PyTorch writes it"),
        ({}, "not as PyTorch writes it"),
    ],
)  # fmt: skip
def test_a_graph_that_pytorch_would_evaluate_or_choke_on_is_refused(
    tmp_path: Path, graph: Any, said: str
) -> None:
    with pytest.raises(Unusable, match=said):
        read_pt2(write_pt2(tmp_path / "model.pt2", graph))


def pickled(**entry: Any) -> bytes:
    return json.dumps({"config": {"w": {"path_name": "weight_0", **entry}}}).encode()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"data/aotinductor/model/a.so": b"\x7fELF"}, "holds compiled code"),
        ({"evil.py": b""}, "which no exported program has"),
        ({"../../escape": b""}, "which no exported program has"),
        ({"DATA/weights/weight_0": b""}, "or duplicate"),
        ({"data/weights/model_weights_config.json": pickled(use_pickle=True)}, "as pickles"),
        (
            {"data/weights/model_weights_config.json": pickled(use_pickle=False, path_name="../a")},
            "as pickles",
        ),
        ({"data/sample_inputs/model.pt": tensor_file(b".", constants=b"")}, "sample inputs hold"),
        ({"data/sample_inputs/model.pt": b"\x80\x02."}, "no readable .pt2"),
        ({"models/other.json": b"{}"}, "holds 2 programs"),
        ({"models/model.json": b"{"}, "not as PyTorch writes it"),
    ],
)
def test_an_archive_with_more_than_a_program_is_refused(
    tmp_path: Path, members: dict[str, bytes], said: str
) -> None:
    with pytest.raises(Unusable, match=said):
        read_pt2(write_pt2(tmp_path / "model.pt2", members=members))


def test_an_archive_that_two_readers_could_understand_differently_is_refused(
    tmp_path: Path,
) -> None:
    packed = write_pt2(tmp_path / "packed.pt2", compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(Unusable, match="is compressed"):
        read_pt2(packed)
    commented = write_pt2(tmp_path / "commented.pt2")
    with zipfile.ZipFile(commented, "a") as archive:
        archive.comment = b"a comment may hold another directory"
    with pytest.raises(Unusable, match="does not end with its directory"):
        read_pt2(commented)


def test_an_archive_with_a_link_in_it_is_refused(tmp_path: Path) -> None:
    path = write_pt2(tmp_path / "model.pt2")
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("model/data/weights/weight_9")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "../../../../etc/passwd")
    with pytest.raises(Unusable, match="is a link"):
        read_pt2(path)


def test_an_archive_that_names_the_same_bytes_many_times_is_refused(tmp_path: Path) -> None:
    path = write_pt2(tmp_path / "model.pt2")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("model/data/sample_inputs/0.pt", bytes(100_000))
        large = archive.infolist()[-1]
        for number in range(1, 50):
            again = copy.copy(large)
            again.filename = again.orig_filename = f"model/data/sample_inputs/{number}.pt"
            archive.filelist.append(again)
    with pytest.raises(Unusable, match="overlap"):
        read_pt2(path)


@pytest.mark.parametrize("kept", [0, 9, 300, 2700])
def test_an_archive_that_was_cut_off_is_refused(tmp_path: Path, kept: int) -> None:
    path = write_pt2(tmp_path / "model.pt2")
    assert path.stat().st_size > kept
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(Unusable):
        read_pt2(path)


def test_an_archive_whose_directory_lies_about_its_place_is_refused(tmp_path: Path) -> None:
    path = write_pt2(tmp_path / "model.pt2")
    data = bytearray(path.read_bytes())
    (place,) = struct.unpack_from("<I", data, len(data) - 6)
    struct.pack_into("<I", data, len(data) - 6, place + len(data))
    path.write_bytes(data)
    with pytest.raises(Unusable, match="starts before the file"):
        read_pt2(path)


@given(position=st.integers(0, 10_000), value=st.integers(0, 255))
def test_one_wrong_byte_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, position: int, value: int
) -> None:
    path = write_pt2(tmp_path_factory.mktemp("a") / "model.pt2")
    data = bytearray(path.read_bytes())
    data[position % len(data)] = value
    path.write_bytes(data)
    with suppress(Unusable):
        assert len(read_pt2(path).inputs) == 1
