"""The ``hf`` command of the newest client: its commands, and calls of them in this process."""

import io
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any
from unittest import mock

import click
from huggingface_hub.cli.hf import app

from tests.clients.verbs.context import Context
from tests.clients.verbs.table import Call, Result, Verb

#: Commands in the order of the documentation, by name without ``hf``.
COMMANDS: dict[str, Verb] = {}


def add(verb: Verb) -> None:
    """Enter the command ``verb``.

    Raises:
        ValueError: its name is in the table.
    """
    if verb.name in COMMANDS:
        raise ValueError(f"{verb.name} is in the table twice.")
    COMMANDS[verb.name] = verb


def works(name: str, area: str, note: str = "") -> Any:
    """Decorator that enters ``name`` with the decorated call as a command that works."""

    def enter(call: Call) -> Call:
        add(Verb(name, area, Result.WORKS, note, call))
        return call

    return enter


def refused(area: str, words: str, lines: dict[str, str], note: str = "") -> None:
    """Enter commands that must fail with ``words``.

    Args:
        lines: Name of the command to its arguments, in which SCRIPT is a file.
    """

    def call(line: str) -> Call:
        return lambda of: fails(_with_script(of, line), words)

    for name, arguments in lines.items():
        add(Verb(name, area, Result.REFUSED, note, call(f"{name} {arguments}")))


def elsewhere(area: str, host: str, lines: dict[str, str], note: str) -> None:
    """Enter commands that ask ``host`` and never this hub.

    Args:
        lines: Name of the command to its arguments.
    """

    def call(line: str) -> Call:
        return lambda _: _asks(host, line)

    for name, arguments in lines.items():
        add(Verb(name, area, Result.ELSEWHERE, note, call(f"{name} {arguments}")))


def hf(line: str) -> str:
    """What ``hf`` prints when called with the arguments in ``line``.

    Raises:
        RuntimeError: it exits with another code than 0, or what the client raises.
    """
    output, messages = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(messages):
        code = app(shlex.split(line), standalone_mode=False)
    if code:
        raise RuntimeError(output.getvalue() + messages.getvalue())
    return output.getvalue()


def fails(line: str, *words: str) -> None:
    """Assert that ``hf`` fails with ``words`` in its message."""
    raised, text = _outcome(line)
    assert raised is not None, f"not refused: {text}"
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


def names() -> set[str]:
    """Names of the commands of this client."""
    return set(_names(app, ""))


def _names(group: Any, path: str) -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if hasattr(command, "list_commands"):
            yield from _names(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


def _with_script(of: Context, line: str) -> str:
    return line.replace("SCRIPT", str(of.new_folder({"a.py": b"print()"}) / "a.py"))


def _outcome(line: str) -> tuple[Exception | None, str]:
    try:
        return None, hf(line)
    except Exception as raised:  # noqa: BLE001 (the caller compares it)
        return raised, f"{type(raised).__name__}: {raised}"


@contextmanager
def _without_others() -> Iterator[set[str]]:
    """Names of hosts other than this machine are not resolved; yields those that were asked."""
    hosts: set[str] = set()
    resolve = socket.getaddrinfo

    def local(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name in {"127.0.0.1", "localhost"}:
            return resolve(host, *arguments, **options)
        hosts.add(name)
        raise socket.gaierror(f"{name} is not to be asked")

    with mock.patch("socket.getaddrinfo", local):
        yield hosts


def _asks(host: str, line: str) -> None:
    with _without_others() as hosts:
        _, text = _outcome(line)
    assert hosts == {host}, (hosts, text)
