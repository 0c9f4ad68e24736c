"""Manual pages of commands, from their parsers: ``hpcfair.1``, ``hpcfair-load.1``...

The hooks that build wheels call it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import typer.main

from hpcfair.commands.exitstatus import ExitStatus


def pages(
    app: typer.Typer, name: str, version: str, statuses: Sequence[ExitStatus]
) -> dict[str, str]:
    """All pages of the command ``name`` by file name."""
    root = typer.main.get_command(app)
    return {
        f"{'-'.join(words)}.1": "\n".join(_page(words, command, version, statuses)) + "\n"
        for words, command in _commands([name], root)
    }


def _commands(words: list[str], command: Any) -> Iterator[tuple[list[str], Any]]:
    yield words, command
    for word, below in getattr(command, "commands", {}).items():
        yield from _commands([*words, word], below)


def _page(
    words: list[str], command: Any, version: str, statuses: Sequence[ExitStatus]
) -> Iterator[str]:
    title, *paragraphs = (command.help or "").split("\n\n")
    below = getattr(command, "commands", {})
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    options = [each for each in shown if each.param_type_name == "option"]
    usage = ["[\\fIOPTIONS\\fR]", *map(_argument, arguments)]
    usage += ["\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]"] if below else []
    yield f'.TH "{_text("-".join(words)).upper()}" 1 "" "{words[0]} {version}" "User Commands"'
    yield from (".SH NAME", f"{_text('-'.join(words))} \\- {_text(title.rstrip('.'))}")
    yield from (".SH SYNOPSIS", f"\\fB{_text(' '.join(words))}\\fR {' '.join(usage)}")
    yield from (".SH DESCRIPTION", _text(title))
    for paragraph in paragraphs:
        yield from (".PP", _text(paragraph))
    if below:
        yield ".SH COMMANDS"
        for word, each in below.items():
            summary = (each.help or "").partition("\n\n")[0]
            yield from _item(f"\\fB{_text('-'.join([*words, word]))}\\fR(1)", summary)
    if arguments:
        yield ".SH ARGUMENTS"
        for each in arguments:
            yield from _item(_argument(each), each.help or "")
    yield ".SH OPTIONS"
    for each in options:
        yield from _item(_option(each), each.help or "", _default(each), _variable(each))
    yield from _examples(command.epilog or "")
    yield ".SH EXIT STATUS"
    if len(words) == 1:
        for status in statuses:
            more = f": {status.cases}" if status.cases else ""
            yield from _item(f"\\fB{status.number}\\fR", f"{status.meaning}{more}")
    else:
        yield f"As listed in \\fB{_text(words[0])}\\fR(1)."
    yield from _see_also(words, below)


def _item(term: str, *texts: str) -> Iterator[str]:
    yield from (".TP", term, _text(" ".join(filter(None, texts))))


def _argument(parameter: Any) -> str:
    name = f"\\fI{_text(parameter.name.upper())}\\fR"
    name += "..." if parameter.nargs == -1 or getattr(parameter, "multiple", False) else ""
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any) -> str:
    names = ", ".join(
        f"\\fB{_text(each)}\\fR" for each in (*parameter.opts, *parameter.secondary_opts)
    )
    if parameter.is_flag:
        return names
    value = parameter.metavar or parameter.name.upper()
    return f"{names} \\fI{_text(value)}\\fR"


def _default(parameter: Any) -> str:
    value = parameter.default
    if value in (None, "", (), []) or isinstance(value, bool) or callable(value):
        return ""
    return f"Default: {value}."


def _variable(parameter: Any) -> str:
    return f"Environment variable: {parameter.envvar}." if parameter.envvar else ""


def _examples(epilog: str) -> Iterator[str]:
    head, *lines = epilog.splitlines() or [""]
    if head == "Examples:":
        yield from (".SH EXAMPLES", ".nf", *map(_text, lines), ".fi")


def _see_also(words: list[str], below: dict[str, Any]) -> Iterator[str]:
    above = ["-".join(words[:-1])] if len(words) > 1 else []
    if above:
        yield from (".SH SEE ALSO", f"\\fB{_text(above[0])}\\fR(1)")
    elif below:
        yield from (".SH SEE ALSO", "The manual of your hub, at its address under /docs/.")


def _text(text: str) -> str:
    """``text`` with the characters that roff would interpret escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)
