"""What files of weights state about themselves, and what lying files come to."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from registry.weightsfiles.facts import Unreadable
from registry.weightsfiles.formats import reader_of
from tests.registry.weightsfacts import read


def safetensors(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_a_safetensors_header_says_what_is_inside() -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "w": tensor("F32", [2, 3], 0, 24),
        "b": tensor("BF16", [4], 24, 32),
    }

    facts = read("model.safetensors", safetensors(header, bytes(32)))

    assert (facts.tensors, facts.parameters) == (2, 10)
    assert [(s.dtype, s.parameters, s.size_bytes) for s in facts.shares] == [
        ("F32", 6, 24),
        ("BF16", 4, 8),
    ]
    assert facts.metadata == (("format", "pt"),)
    assert facts.findings == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"abc", "shorter than"),
        (safetensors({}, length=2**60), "but the file has 10"),
        (struct.pack("<Q", 104_857_600) + bytes(104_857_600), "safetensors permits 100,000,000"),
        (struct.pack("<Q", 2**25) + bytes(2**25), "headers up to 16,777,216 are read"),
        (safetensors(b"{" * 50), "not JSON"),
        (safetensors(b"[" * 100_000), "not JSON"),
        (safetensors([1]), "not a JSON object"),
    ],
    ids=["short", "beyond", "large", "long", "text", "deep", "list"],
)
def test_a_safetensors_header_that_cannot_be_read_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read("model.safetensors", data)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"w": tensor("F32", [2], 0, 12)}, "2 values of F32, but 12 bytes"),
        ({"w": tensor("F32", [8], 0, 32)}, "lies outside the file"),
        ({"w": tensor("F32", [-1], 0, 0)}, "impossible shape"),
        ({"w": tensor("F33", [3], 0, 12)}, "unknown type"),
        ({"w": {"dtype": "F32"}}, "no type, shape and place"),
        ({"w": tensor("F32", [2], 0, 8)}, "4 bytes at the end belong to no tensor"),
        ({"v": tensor("F32", [2], 0, 8), "w": tensor("F32", [2], 4, 12)}, "overlap at byte 4"),
        (b'{"w":[1],"w":[2]}', "occurs twice"),
    ],
)
def test_a_safetensors_header_that_lies_is_a_finding(header: Any, reason: str) -> None:
    facts = read("model.safetensors", safetensors(header, bytes(12)))

    assert any(reason in finding for finding in facts.findings), facts.findings


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(kind: int, sizes: tuple[int, ...], data: int, tensors: int = 1) -> bytes:
    start = b"GGUF" + struct.pack("<IQQ", 3, tensors, 2)
    start += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    start += text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    start += text("blk.0.weight") + struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
    start += struct.pack("<IQ", kind, 0)
    return start + bytes(-len(start) % 32 + data)


def test_a_gguf_header_says_how_it_is_quantised() -> None:
    facts = read("model.Q4_K_M.gguf", gguf(12, (512, 3), 6 * 144))

    assert (facts.tensors, facts.parameters) == (1, 1536)
    assert facts.shares[0].dtype == "Q4_K"
    assert facts.shares[0].size_bytes == 6 * 144
    assert facts.listed[0].shape == (3, 512)
    assert ("general.architecture", "llama") in facts.metadata
    assert facts.findings == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GGML" + bytes(20), "does not begin"),
        (gguf(12, (512,), 288)[:90], "ends within its header"),
        (gguf(12, (512,), 288, tensors=2**40), "claims 1,099,511,627,776 tensors"),
        (gguf(12, (1,) * 9, 144), "9 dimensions"),
    ],
)
def test_a_damaged_gguf_header_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read("model.gguf", data)


def test_a_gguf_tensor_outside_the_file_is_a_finding() -> None:
    facts = read("model.gguf", gguf(12, (512, 3), 144))

    assert "lies outside the file" in facts.findings[0]


class Evil:
    def __reduce__(self) -> Any:
        return eval, ("1 + 1",)


def test_a_pickle_of_arrays_is_harmless() -> None:
    for protocol in (2, 4, 5):
        data = pickle.dumps({"w": np.zeros(3), "s": np.float32(1)}, protocol)
        facts = read("weights.pkl", data)
        assert facts.findings == (), protocol


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_runs_code_is_labelled(protocol: int) -> None:
    facts = read("model.pt", pickle.dumps([np.zeros(3), Evil()], protocol))

    assert "eval" in facts.findings[0]
    assert ("loading", "can run code") in facts.metadata


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        # What is imported is taken from a memo that another value was stored into.
        (b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94000h\x00h\x01\x93.", "os.system"),
        # A value that is computed hides the name.
        (b"\x80\x04)\x8c\x06system\x93.", "hides what it imports"),
        (b"\x80\x02\x82\x01.", "EXT1"),
        # The second pickle of a file, and one that is damaged after its import.
        (b"\x80\x02N.cos\nsystem\n.", "os.system"),
        (b"\x80\x02cos\nsystem\n\xff", "os.system"),
        (b"\x80\x02" + b"N0" * 200_000 + b"cos\nsystem\n.", "not scanned to its end"),
    ],
)
def test_a_pickle_that_hides_its_import_is_labelled(data: bytes, reason: str) -> None:
    facts = read("model.bin", data)

    assert any(reason in finding for finding in facts.findings), facts.findings


@pytest.mark.parametrize("compress", [zlib.compress, gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_pickle_is_scanned(compress: Callable[[bytes], bytes]) -> None:
    facts = read("model.joblib", compress(pickle.dumps(Evil())))
    assert facts.format == "compressed Python pickle"
    assert "can run code" in facts.findings[0]
    with pytest.raises(Unreadable):
        read("model.joblib", compress(bytes(20)))


def archive(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return stream.getvalue()


def test_pickles_in_an_archive_of_pytorch_are_scanned() -> None:
    data = archive({"model/data.pkl": pickle.dumps(Evil(), 2), "model/version": b"3"})

    assert "eval" in read("pytorch_model.bin", data).findings[0]


def test_an_exported_program_states_its_weights() -> None:
    meta = {"dtype": 7, "sizes": [{"as_int": 4}, {"as_int": 3}]}
    config = {"config": {"layer.weight": {"tensor_meta": meta}}}
    data = archive(
        {
            "m/archive_version": b"0",
            "m/models/model.json": b"{}",
            "m/data/weights/model_weights_config.json": json.dumps(config).encode(),
        }
    )

    facts = read("model.pt2", data)

    assert (facts.tensors, facts.parameters) == (1, 12)
    assert facts.shares[0].dtype == "float32"


def test_a_keras_model_with_code_in_it_is_labelled() -> None:
    layers = [{"class_name": "Dense"}, {"class_name": "Lambda"}]
    config = {"class_name": "Sequential", "config": {"layers": layers}}
    data = archive(
        {
            "config.json": json.dumps(config).encode(),
            "metadata.json": b'{"keras_version": "3.15.1"}',
            "model.weights.h5": bytes(100),
        }
    )

    facts = read("model.keras", data)

    assert ("Keras", "3.15.1") in facts.metadata
    assert "Lambda" in facts.findings[0]


@pytest.mark.parametrize("path", ["model.pt2", "model.keras", "model.bin"])
def test_a_damaged_archive_is_refused(path: str) -> None:
    data = archive({"config.json": b"{}", "m/archive_version": b"0"})

    with pytest.raises(Unreadable):
        read(path, data[:40])
    with pytest.raises(Unreadable, match="too large"):
        read(path, data[:-10] + struct.pack("<I", 2**30) + data[-6:])


def test_other_files_state_nothing() -> None:
    assert reader_of("README.md") is None
