"""Output of commands: tables on a terminal, tab-separated lines in a pipe, JSON with ``--json``.

Results go to standard output, everything else to standard error.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from inspect import cleandoc, getdoc
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

#: Every command has this option, so that scripts need not parse tables. With it, standard output is
#: one JSON document: the result, or ``{"error": ...}``.
JSON_OPTION = "--json"
Json = Annotated[bool, typer.Option(JSON_OPTION, help="Print the result, or the error, as JSON.")]


def join_lines(app: typer.Typer) -> None:
    """Let a terminal wrap the paragraphs of help texts, not the source code."""
    for command in app.registered_commands:
        paragraphs = cleandoc(command.help or getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs)


def emit_json(value: Any) -> None:
    """Print ``value`` as JSON: dataclasses as objects; NaN and infinity as null."""
    text = json.dumps(value, default=_plain)
    plain = json.loads(text, parse_constant=lambda _: None)
    typer.echo(json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False))


def emit_error(exit_status: int, code: str, message: str, **more: Any) -> None:
    """Print what ended a command as JSON, in place of its result."""
    document = {"code": code, "message": message, "exit_status": exit_status, **more}
    emit_json({"error": document})


def requests_json(arguments: Sequence[str]) -> bool:
    """Whether a command line has ``--json``; true also of one that cannot be parsed."""
    return JSON_OPTION in takewhile(lambda each: each != "--", arguments)


def emit_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table on a terminal, tab-separated lines without a heading elsewhere."""
    if not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(_cell(value) for value in row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        # Long ids are wrapped, because a truncated id is useless.
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    Console().print(table, markup=False)


def emit_pairs(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print names with their values; empty values are omitted."""
    filled = [(name, value) for name, value in pairs if value not in (None, "", [], (), {})]
    width = max((len(name) for name, _ in filled), default=0)
    for name, value in filled:
        typer.echo(f"{name:<{width}}  {_cell(value)}")


def say(message: str) -> None:
    """Print a message that is not part of the result."""
    typer.echo(message, err=True)


def size(count: int) -> str:
    """A size in bytes with a unit."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value).replace("\t", " ").replace("\n", " ")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
