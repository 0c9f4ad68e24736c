"""Data of pages as files."""

import csv
import io

import pytest

from hub.pages.download import csv_download, download


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_spreadsheet_runs_no_text(text: str) -> None:
    answer = csv_download("table.csv", [["name", "ms"], [text, -1.5]])
    rows = list(csv.reader(io.StringIO(answer.content.decode(), newline="")))
    assert rows == [["name", "ms"], [f"'{text}", "-1.5"]]


def test_a_head_is_one_line_for_each_name() -> None:
    head = {"model": "lab/net", "notes": "two\nlines", "tools": {"tvm": "0.27"}}
    lines = csv_download("table.csv", [["a"]], head).content.decode().splitlines()
    assert lines == ["# model: lab/net", "# notes: two lines", '# tools: {"tvm": "0.27"}', "a"]


def test_names_of_files_are_quoted() -> None:
    answer = download('a"b\r\nX: 1.csv', b"", "text/csv")
    assert "\n" not in answer["Content-Disposition"]
