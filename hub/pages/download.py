"""Data of pages as files to download."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence

from django.http import HttpResponse
from django.utils.http import content_disposition_header

#: What spreadsheets take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def download(file_name: str, content: bytes | str, content_type: str) -> HttpResponse:
    """A file that browsers save instead of showing it."""
    answer = HttpResponse(content, content_type=content_type)
    answer["Content-Disposition"] = content_disposition_header(
        as_attachment=True, filename=file_name
    )
    return answer


def json_download(file_name: str, document: Mapping[str, object]) -> HttpResponse:
    """A document as a file."""
    return download(file_name, json.dumps(document), "application/json")


def csv_download(
    file_name: str, rows: Iterable[Sequence[object]], head: Mapping[str, object] | None = None
) -> HttpResponse:
    """A table as a file: ``head`` as lines that begin with ``#``, then the rows.

    Texts that a spreadsheet would run as a formula begin with an apostrophe.
    """
    text = io.StringIO()
    for key, value in (head or {}).items():
        shown = value if isinstance(value, str) else json.dumps(value)
        text.write(f"# {key}: {' '.join(shown.splitlines())}\r\n")
    # Lines end as in RFC 4180; with another ending, Python 3.11 does not quote carriage returns.
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return download(file_name, text.getvalue(), "text/csv; charset=utf-8")


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
