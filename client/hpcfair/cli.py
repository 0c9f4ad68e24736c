"""The ``hpcfair`` command.

Exit status:

====  ====================================================================
0     done
1     another failure (a damaged cache, a full disk, a missing package, a runtime)
2     usage error: an option, an argument, a setting, an input
3     not found
4     not signed in, or not allowed
5     the hub does not answer, or is temporarily unavailable
6     the hub rejects the request: invalid, conflict, too large
7     a job failed, or the hub cannot use a model file
8     a record or the test tensors of a model were not reproduced
9     a signature is wrong, missing or by a key that is not trusted
130   interrupted
====  ====================================================================
"""

import errno
import os
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from hpcfair import errors
from hpcfair.commands import (
    account,
    bench,
    bundles,
    cache,
    catalogue,
    comparison,
    devices,
    doi,
    files,
    imports,
    jobs,
    performance,
    principles,
    profiles,
    reproduction,
    run,
    runon,
    targets,
    topology,
    trust,
    workloads,
)
from hpcfair.connections import user_agent
from hpcfair.job import WaitingWarning
from hpcfair.localfiles import storage_failed
from hpcfair.resolution import PlainModelWarning, StaleAnswerWarning
from hpcfair.trust.check import UnverifiedWarning
from hpcfair.trust.hubkeys import NewKeyWarning

#: Error class to exit status; the first match applies.
EXIT_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.InvalidModelFile, 7),
    (errors.JobFailed, 7),
    (errors.NotFound, 3),
    (errors.Unauthenticated, 4),
    (errors.Forbidden, 4),
    (errors.Unavailable, 5),
    (errors.HubUnreachable, 5),
    (TimeoutError, 5),
    (errors.HubError, 6),
    (errors.NoModelFile, 3),
    (errors.BadConfig, 2),
    (errors.BadInput, 2),
    (errors.Untrusted, 9),
    (errors.BadCard, 2),
    (errors.NotSupported, 2),
    (errors.HpcfairError, 1),
)
_INTERRUPTED = 130


def exit_status(error: Exception) -> int:
    """The exit status for an error."""
    return next((status for kind, status in EXIT_STATUS if isinstance(error, kind)), 1)


class _Commands(TyperGroup):
    """Prints errors as one line with an exit status instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            for kind in (
                NewKeyWarning,
                PlainModelWarning,
                StaleAnswerWarning,
                UnverifiedWarning,
                WaitingWarning,
            ):
                warnings.simplefilter("always", kind)
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                typer.echo("\nInterrupted.", err=True)
                raise typer.Exit(_INTERRUPTED) from None
            except errors.HpcfairError as error:
                _refuse(error)
            except OSError as error:
                # The reader of a pipe has ended, which Click handles.
                if error.errno == errno.EPIPE:
                    raise
                _discard_output()
                _refuse(storage_failed(error, "the output"))


def _refuse(error: errors.HpcfairError) -> NoReturn:
    typer.echo(f"hpcfair: {error}", err=True)
    raise typer.Exit(exit_status(error)) from error


def _discard_output() -> None:
    """Discard what standard output does not take: Python would fail once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"hpcfair: {message}", err=True)


def _version(shows_version: bool) -> None:
    if shows_version:
        typer.echo(user_agent())
        raise typer.Exit


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Search, load, save and reuse models, each in the fastest trustworthy build for this "
    "machine.",
    epilog="Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 not signed in or not allowed, "
    "5 no answer, 6 refused, 7 a job or a model's file failed, 8 not reproduced, "
    "9 not signed or wrongly, 130 interrupted.",
)


@app.callback()
def _main(
    url: Annotated[
        str | None, typer.Option(help="Address of the hub; else HPCFAIR_URL, else as logged in.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions.")
    ] = False,
) -> None:
    pass


for command in (
    account.login,
    account.logout,
    account.whoami,
    catalogue.search,
    topology.graph,
    catalogue.info,
    comparison.compare,
    files.pull,
    files.push,
    bundles.bundle,
    doi.doi,
    run.load,
    run.run,
    runon.run_on,
    reproduction.reproduce,
    performance.perf,
    trust.verify,
    trust.trust,
    jobs.tune,
    principles.principles,
    principles.ablate,
    workloads.workloads,
):
    app.command()(command)
app.command("import")(imports.import_model)
jobs.app.command()(runon.outputs)
app.add_typer(bench.app, name="bench")
app.add_typer(devices.app, name="devices")
app.add_typer(jobs.app, name="jobs")
app.add_typer(profiles.app, name="profiles")
app.add_typer(targets.app, name="targets")
app.add_typer(cache.app, name="cache")
