"""Bounds of the parsers: size, depth, numbers, encodings, and the table of formats."""

import pytest

from registry.profilefiles import bounds
from registry.profilefiles.bounds import MOST_BYTES, MOST_DEPTH, parse_json, texts
from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.formats import FORMATS, read
from registry.profilefiles.types import MOST_CALLS


def test_a_file_that_is_too_large_is_not_parsed() -> None:
    with pytest.raises(ProfileFault, match="at most 16,777,216 are read"):
        parse_json(b"[" + b" " * MOST_BYTES + b"]")


@pytest.mark.parametrize("depth", [MOST_DEPTH + 1, 100_000])
def test_deep_json_is_refused_before_it_is_parsed(depth: int) -> None:
    with pytest.raises(ProfileFault, match="32 levels"):
        parse_json(b"[" * depth + b"]" * depth)


def test_brackets_inside_texts_do_not_count() -> None:
    assert parse_json(b'["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\"["]')


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 21])
def test_numbers_that_no_counter_has_are_refused(number: str) -> None:
    with pytest.raises(ProfileFault):
        parse_json(f"[{number}]".encode())


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x89PNG", b"\x80\x04\x95 pickle"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(ProfileFault):
        read(data, name="onnxruntime")


def test_unknown_files_are_told_what_is_known() -> None:
    with pytest.raises(ProfileFault, match="not recognised") as refusal:
        read(b"a,b\n1,2\n")
    assert all(each.title in refusal.value.hint for each in FORMATS.values())


def test_only_one_format_has_a_second_file() -> None:
    with pytest.raises(ProfileFault, match="no second file"):
        read(b'[{"name": "a_kernel_time"}]', name="onnxruntime", details=b"{}")


def test_runs_of_too_many_calls_are_refused() -> None:
    rows = "".join(f"{place},1,k{place}\n" for place in range(MOST_CALLS + 1))
    with pytest.raises(ProfileFault, match="20,001 calls"):
        read(f"Start (ns),Duration (ns),Name\n{rows}".encode())


def test_tables_of_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_ROWS", 3)
    with pytest.raises(ProfileFault, match="more than 3 rows"):
        read(b"Start (ns),Duration (ns),Name\n" + b"1,1,k\n" * 4)


def test_texts_are_one_line_that_a_database_stores() -> None:
    assert texts("a\x00b\ud800\n c") == "a b? c"
    assert texts(7) == ""
