"""Headers of NumPy archives: read as NumPy writes them, refused in every other form."""

import io
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.arrays import write_arrays
from registry.errors import Invalid
from registry.validation.arrays import ArrayHeader, input_faults, read_headers

DTYPES = ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64")


def archive(**arrays: Any) -> bytes:
    """An archive as NumPy writes it."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def member(data: bytes, *, name: str = "x.npy", method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive with one member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        made.writestr(name, data)
    return stream.getvalue()


def headers(data: bytes) -> dict[str, ArrayHeader]:
    return read_headers(io.BytesIO(data), len(data))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (1, 2, 3, 4)])
def test_arrays_are_described_as_numpy_wrote_them(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtype)
    expected = {"x": ArrayHeader(dtype, shape, array.nbytes)}
    assert headers(archive(x=array)) == expected
    stream = io.BytesIO()
    np.savez_compressed(stream, x=np.array(array, order="F"))
    assert headers(stream.getvalue()) == expected


def test_arrays_of_the_client_are_read(tmp_path: Path) -> None:
    arrays = {"file": np.zeros((2, 3), np.float32), "a/b": np.array(["one", "three"])}
    write_arrays(tmp_path / "x.npz", arrays)
    data = (tmp_path / "x.npz").read_bytes()
    assert headers(data) == {
        "file": ArrayHeader("float32", (2, 3), 24),
        "a/b": ArrayHeader("string", (2,), 40),
    }
    assert str(headers(data)["file"]) == "float32[2,3]"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "too short"),
        (b"no archive at all, but long enough", "not a zip archive"),
        (archive(x=np.array([{}], dtype=object)), "Python objects, which are never unpickled"),
        (archive(x=np.zeros(2, "f4,i4")), "no plain array"),
        (archive(x=np.zeros(2, "datetime64[s]")), "no plain array"),
        (archive(x=np.zeros(2, "f4"))[:-40], "not a zip archive"),
        (archive(x=np.zeros(2, "f4")) + b"comment", "not a zip archive"),
        (member(b"x = 1", name="x.py"), "not an array"),
        (member(b"anything"), "not a NumPy array"),
        (member(b"\x93NUMPY\x01\x00\xff\xff"), "not a NumPy array"),
        (member(archive(), name="x.npy"), "not a NumPy array"),
        (member(b"\0" * 10, method=zipfile.ZIP_LZMA), "compressed in another way"),
        (archive(), "contains no array"),
    ],
)
def test_other_files_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(Invalid, match=reason) as refusal:
        headers(data)
    assert refusal.value.code == "invalid_inputs"


def test_a_header_with_a_wrong_size_is_refused() -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,), }\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    with pytest.raises(Invalid, match="another size than its header"):
        headers(member(start + bytes(400)))


def test_an_oversized_table_of_contents_is_not_read() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for number in range(257):
            made.writestr(f"{number}.npy", b"")
    with pytest.raises(Invalid, match="more than 256 arrays"):
        headers(stream.getvalue())
    # The 64-bit format has these numbers elsewhere.
    data = archive(x=np.zeros(2, "f4"))
    with pytest.raises(Invalid, match="more than 256 arrays"):
        headers(data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:])


@given(st.data())
def test_damaged_archives_are_refused_or_read_but_never_break(data: st.DataObject) -> None:
    whole = bytearray(archive(x=np.arange(6, dtype=np.float32), y=np.arange(3)))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = (
        bytes(whole[: data.draw(st.integers(0, len(whole)))]) if data.draw(st.booleans()) else whole
    )
    with suppress(Invalid):
        for header in headers(bytes(cut)).values():
            assert header.size_bytes <= len(cut)


def spec(name: str, dtype: str, *shape: int | str) -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "shape": list(shape)}


@pytest.mark.parametrize(
    ("arrays", "faults"),
    [
        ({"x": ("float32", (2, 4)), "n": ("int64", (2,))}, {}),
        ({"x": ("float32", (2, 4))}, {"n": "is missing"}),
        (
            {"x": ("float64", (2, 4)), "n": ("int64", (2,))},
            {"x": "is float64[2,4], the network takes float32[N,4]"},
        ),
        (
            {"x": ("float32", (2, 5)), "n": ("int64", (2,))},
            {"x": "is float32[2,5], the network takes float32[N,4]"},
        ),
        (
            {"x": ("float32", (4,)), "n": ("int64", (2,))},
            {"x": "is float32[4], the network takes float32[N,4]"},
        ),
        (
            {"x": ("float32", (2, 4)), "n": ("int64", (3,))},
            {"n": "is int64[3]: dimension N is 2 in x"},
        ),
        (
            {"x": ("float32", (0, 4)), "n": ("int64", (0,))},
            {
                "x": "is float32[0,4], which is empty",
                "n": "is int64[0], which is empty",
            },
        ),
        (
            {"x": ("float32", (2, 4)), "n": ("int64", (2,)), "z": ("int8", (1,))},
            {"z": "is not an input of the network; its inputs are x, n"},
        ),
    ],
)
def test_inputs_are_compared_with_the_signature(
    arrays: dict[str, tuple[str, tuple[int, ...]]], faults: dict[str, str]
) -> None:
    signature = {"inputs": [spec("x", "float32", "N", 4), spec("n", "int64", "N")]}
    shown = {
        name: ArrayHeader(dtype, shape, int(np.prod(shape)) * np.dtype(dtype).itemsize)
        for name, (dtype, shape) in arrays.items()
    }
    assert input_faults(shown, signature) == faults


def test_open_dimensions_and_unknown_ranks_take_any_size() -> None:
    signature = {"inputs": [spec("x", "float32", "?", "?"), spec("y", "float32", "...")]}
    shown = {"x": ArrayHeader("float32", (2, 3), 24), "y": ArrayHeader("float32", (7, 1, 2), 56)}
    assert input_faults(shown, signature) == {}
