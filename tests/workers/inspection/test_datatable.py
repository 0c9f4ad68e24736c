"""Columns of tables: what is read, and what is no table."""

import struct
from pathlib import Path
from typing import Any

import pytest

from workers.inspection.datatable import read_tables


def read(folder: Path, kind: str, data: bytes | str) -> dict[str, Any]:
    (folder / "file").write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_tables(str(folder), {"file": kind})["file"]


def types(table: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["type"] + "[]" * one["is_list"] for one in table["columns"]}


def test_a_type_holds_for_every_value_of_a_column(tmp_path: Path) -> None:
    head = "id,size,on,day,at,zip,note,late\n"
    row = "1,2,true,2026-01-31,2026-01-31T10:00:00Z,01234,x,1\n"
    last = "2,2.5,False,2026-02-01,2026-02-01,01235,,one\n"
    table = read(tmp_path, "csv", "\ufeff" + head + row * 500 + last + "3,NA,,,,,,\n")
    assert table["rows"] == 502
    assert types(table) == {
        "id": "integer",
        "size": "float",
        "on": "boolean",
        "day": "date",
        "at": "datetime",
        "zip": "text",
        "note": "text",
        "late": "text",
    }
    assert types(read(tmp_path, "tsv", "a\tb\n1\tx, y\n")) == {"a": "integer", "b": "text"}


@pytest.mark.parametrize(
    "data",
    ["", "1,2\n3,4\n", "a,b\n1\n", "a,a\n1,2\n", "a,\n1,2\n", "a;b\n1;2\n", b"a,b\n\xff,1\n"],
)
def test_a_text_without_named_columns_is_no_table(tmp_path: Path, data: bytes | str) -> None:
    assert read(tmp_path, "csv", data)["columns"] == []


def test_lines_of_json_have_the_types_of_their_values(tmp_path: Path) -> None:
    lines = (
        '{"n": 1, "x": 1, "ok": true, "tags": ["a"], "deep": {"a": 1}, "mix": [1]}\n\n'
        '{"n": null, "x": 0.5, "ok": false, "tags": [], "more": "2026-01-31", "mix": 1}\n'
    )
    table = read(tmp_path, "jsonl", lines)
    assert table["rows"] == 2
    assert types(table) == {
        "n": "integer",
        "x": "float",
        "ok": "boolean",
        "tags": "text[]",
        "more": "date",
    }
    for bad in ("[1]\n", '{"\\ud800": 1}\n', "{\n", '{"a": 1} {"a": 2}\n', "[" * 100_000):
        assert read(tmp_path, "jsonl", bad)["columns"] == []


def _parquet(elements: list[bytes], rows: int) -> bytes:
    """A footer as parquet.thrift has it: version, schema, number of rows."""
    schema = bytes([0x19, len(elements) << 4 | 12]) + b"".join(elements)
    footer = b"\x15\x02" + schema + b"\x16" + bytes([rows * 2]) + b"\x00"
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _leaf(name: bytes, physical: int, converted: int | None = None) -> bytes:
    text = bytes([0x18, len(name)]) + name
    optional = b"\x25\x02"
    tail = b"\x25" + bytes([converted * 2]) if converted is not None else b""
    return bytes([0x15, physical * 2]) + optional + text + tail + b"\x00"


def _group(name: bytes, children: int) -> bytes:
    return bytes([0x48, len(name)]) + name + bytes([0x15, children * 2, 0])


def test_the_footer_of_a_parquet_file_states_its_types(tmp_path: Path) -> None:
    elements = [
        _group(b"schema", 5),
        _leaf(b"id", 2),
        _leaf(b"text", 6, 0),
        _group(b"nested", 1),
        _leaf(b"inside", 5),
        _leaf(b"raw", 6),
        _leaf(b"day", 1, 6),
    ]
    data = _parquet(elements, 7)
    table = read(tmp_path, "parquet", data)
    assert table["rows"] == 7
    assert types(table) == {"id": "integer", "text": "text", "day": "date"}
    for rows in (b"\xff" * 9 + b"\x7f", b"\x01"):
        # Beyond any database, and less than none.
        assert read(tmp_path, "parquet", data.replace(b"\x16\x0e", b"\x16" + rows))["columns"] == []
    for odd in (b"\x15\x02\x19\x25\x02\x02\x16\x02\x00", b"\x19\x2c\x00\x15\x02\x00\x16\x02\x00"):
        # A schema of numbers, and a column without a name.
        footer = b"PAR1" + odd + struct.pack("<I", len(odd)) + b"PAR1"
        assert read(tmp_path, "parquet", footer)["columns"] == []
    for end in range(len(data)):
        assert read(tmp_path, "parquet", data[:end])["columns"] == []
    for at in range(len(data)):
        read(tmp_path, "parquet", data[:at] + b"\xff" + data[at + 1 :])
