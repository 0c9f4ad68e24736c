"""Reports what ends a command: one line for people, an object for programs, an exit status."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from hpcfair.commands.exitstatus import INTERRUPTED, exit_status
from hpcfair.commands.modelnames import suggest_remembered
from hpcfair.commands.output import emit_error
from hpcfair.errors import HpcfairError, HubError, ModelNotFound
from hpcfair.localfiles import storage_failed

#: Key in the ``meta`` of a context: whether the command line has ``--json``.
AS_JSON = "hpcfair.as_json"


@contextmanager
def reported(context: typer.Context) -> Iterator[None]:
    """Report errors on standard error and, for a program, on standard output, where it expects
    one JSON document in any case."""
    as_json = context.meta[AS_JSON]
    try:
        yield
    except typer.TyperException as error:
        # Wrong usage, which Typer prints.
        if as_json:
            emit_error(error.exit_code, "usage", error.format_message())
        raise
    except KeyboardInterrupt:
        typer.echo("\nInterrupted.", err=True)
        if as_json:
            emit_error(INTERRUPTED, "interrupted", "Interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except ModelNotFound as error:
        suggest_remembered(error, context)
        _end(error, as_json=as_json)
    except HpcfairError as error:
        _end(error, as_json=as_json)
    except OSError as error:
        # The reader of a pipe has ended, which Typer handles.
        if error.errno == errno.EPIPE:
            raise
        _discard_output()
        _end(storage_failed(error, "the output"), as_json=as_json)


def _end(error: HpcfairError, *, as_json: bool) -> NoReturn:
    typer.echo(f"hpcfair: {error}", err=True)
    status = exit_status(error)
    if as_json:
        more: dict[str, Any] = {"hint": error.hint}
        if isinstance(error, HubError):
            more |= {"status": error.status, "fields": error.fields, "request_id": error.request_id}
        emit_error(status, error.code, error.detail, **more)
    raise typer.Exit(status) from error


def _discard_output() -> None:
    """Discard what standard output does not take: Python would fail once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
