"""Parses JSON and CSV of strangers within strict bounds.

The bounds are those of work in a web server: a file of the greatest size takes about a second and
ten times its size of memory (ADR 57).
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from registry.profilefiles.errors import ProfileFault

MOST_BYTES = 16 * 2**20
MOST_DEPTH = 32
MOST_ROWS = 200_000
_MOST_DIGITS = 20
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_STEP = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}


def parse_json(data: bytes) -> Any:
    """The document. Raises ProfileFault if it is no JSON, too large, too deep, or has numbers that
    are not finite."""
    _check_size(data)
    depth = 0
    for byte in _STRING.sub(b"", data):
        depth += _STEP.get(byte, 0)
        if depth > MOST_DEPTH:
            raise ProfileFault(f"The JSON is nested more than {MOST_DEPTH} levels deep.")
    try:
        return json.loads(_text(data), parse_constant=_refuse, parse_int=_int, parse_float=_float)
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ProfileFault(
            f"The JSON cannot be read{where}: the file is damaged or was cut off.",
            "A profiler that is stopped too early leaves half a file.",
        ) from None


def parse_csv(data: bytes, header: str) -> Iterator[list[list[str]]]:
    """The tables of a CSV file whose header line begins with the cell ``header``, each as rows with
    the header first.

    Lines before the first header are messages of the tool. A table ends at an empty line or at the
    next header. The delimiter is the character after the header's first cell.
    """
    _check_size(data)
    lines = _text(data).splitlines()
    starts = [number for number, line in enumerate(lines) if _begins(line, header)]
    for start, following in pairwise([*starts, len(lines)]):
        rows = lines[start:following]
        end = next((n for n, line in enumerate(rows) if not line.strip()), len(rows))
        if end > MOST_ROWS:
            raise ProfileFault(f"The table has more than {MOST_ROWS:,} rows.")
        delimiter = ";" if rows[0].lstrip('"')[len(header) :].lstrip('"')[:1] == ";" else ","
        try:
            yield list(csv.reader(io.StringIO("\n".join(rows[:end])), delimiter=delimiter))
        except csv.Error as error:
            raise ProfileFault(f"The CSV cannot be read: {error}.") from None


def number(value: object, *, what: str) -> float:
    """A finite number from JSON or a cell. Raises ProfileFault."""
    is_figure = isinstance(value, int | float | str) and not isinstance(value, bool)
    try:
        figure = float(value) if is_figure else None  # type: ignore[arg-type]
    except ValueError:
        figure = None
    if figure is None:
        raise ProfileFault(f"{what} is {_shown(value)}, which is not a number.")
    if not math.isfinite(figure):
        raise ProfileFault(f"{what} is {_shown(value)}, which is not a finite number.")
    return figure


def texts(value: object) -> str:
    """A text of a file, on one line and without what no database stores."""
    text = value if isinstance(value, str) else ""
    text = text.encode(errors="replace").decode()
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())


def _begins(line: str, header: str) -> bool:
    start = line.removeprefix('"')
    return start.startswith(header) and start[len(header) :].lstrip('"')[:1] in {",", ";"}


def _check_size(data: bytes) -> None:
    if len(data) > MOST_BYTES:
        raise ProfileFault(
            f"The file has {len(data):,} bytes; at most {MOST_BYTES:,} are read.",
            "Record fewer runs: medians of 10 to 30 runs are enough.",
        )


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ProfileFault("The file is not text in UTF-8.") from None


def _refuse(name: str) -> float:
    raise ProfileFault(f"The JSON contains {name}, which is not a number.")


def _int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ProfileFault(f"The JSON has a whole number of {len(digits)} digits.")
    return int(digits)


def _float(digits: str) -> float:
    if not math.isfinite(figure := float(digits)):
        raise ProfileFault(f"The JSON has the number {digits[:_MOST_DIGITS]}, which is not finite.")
    return figure


def _shown(value: object) -> str:
    return repr(value)[:60]
