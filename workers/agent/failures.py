"""Reports what ends a command: one line for people, an object for programs, an exit status."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from hpcfair import errors
from hpcfair.commands.output import emit_error, requests_json
from workers.agent.board import BoardInvalid
from workers.agent.bundle.journal import JournalBusy, JournalDamaged
from workers.agent.bundle.trust import BundleRefused
from workers.agent.connection import Refused
from workers.agent.devicekey import KeyUnusable
from workers.agent.enrolment import NotEnrolled, UnsafeHub
from workers.agent.exitstatus import FAILURE, NO_ANSWER, REFUSED, USAGE
from workers.agent.slurm import NoAllocation
from workers.agent.statefolder import ForeignState, StateInUse
from workers.agent.tunnel import TunnelFailed
from workers.engine.errors import EngineError

#: Errors that the user of the command can correct.
_MISUSES = (
    BoardInvalid, ForeignState, KeyUnusable, NoAllocation, NotEnrolled, StateInUse, UnsafeHub,
)  # fmt: skip
_FAULTS = (BundleRefused, JournalBusy, JournalDamaged, TunnelFailed)
_OTHERS = (OSError, ValueError, sqlite3.Error, errors.HpcfairError, EngineError)
#: Key in the ``meta`` of a context: whether the command line has ``--json``.
_AS_JSON = "hpcfair_agent.as_json"


class ReportingCommands(TyperGroup):
    """Ends commands that fail with a line and an exit status instead of a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_AS_JSON] = requests_json(args)
        with _reported(as_json=ctx.meta[_AS_JSON]):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _reported(as_json=ctx.meta[_AS_JSON]):
            return super().invoke(ctx)


@contextmanager
def _reported(*, as_json: bool) -> Iterator[None]:
    try:
        yield
    except typer.TyperException as error:
        # Wrong usage, which Typer prints.
        if as_json:
            emit_error(error.exit_code, "usage", error.format_message())
        raise
    except SystemExit as error:
        # A machine that confines processes less than it must, which Python prints.
        if as_json:
            emit_error(FAILURE, "not_confined", str(error.code))
        raise
    except _MISUSES as error:
        _end(error, USAGE, as_json=as_json)
    except (errors.HubUnreachable, errors.Unavailable) as error:
        _end(error, NO_ANSWER, as_json=as_json)
    except _FAULTS as error:
        _end(error, FAILURE, as_json=as_json)
    except (Refused, errors.HubError) as error:
        _end(error, REFUSED, as_json=as_json)
    except _OTHERS as error:
        _end(error, FAILURE, as_json=as_json)


def _end(error: Exception, status: int, *, as_json: bool) -> NoReturn:
    typer.echo(f"hpcfair-agent: {error}", err=True)
    if as_json and isinstance(error, errors.HpcfairError):
        emit_error(status, error.code, error.detail, hint=error.hint)
    elif as_json:
        emit_error(status, _code(error), str(error), hint="")
    raise typer.Exit(status) from error


def _code(error: Exception) -> str:
    """``not_enrolled`` for NotEnrolled; ``failed`` for errors of libraries."""
    if not isinstance(error, (*_MISUSES, *_FAULTS, Refused, EngineError)):
        return "failed"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
