"""The ``hpcfair`` command."""

import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hpcfair.commands import (
    account,
    bench,
    bundles,
    cache,
    catalogue,
    comparison,
    devices,
    doi,
    examples,
    exitstatus,
    failures,
    files,
    imports,
    jobs,
    mirror,
    performance,
    prefetch,
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
from hpcfair.commands.output import join_lines, requests_json
from hpcfair.connections import user_agent
from hpcfair.job import WaitingWarning
from hpcfair.resolution import PlainModelWarning, StaleAnswerWarning
from hpcfair.trust.check import UnverifiedWarning
from hpcfair.trust.hubkeys import NewKeyWarning


class _Commands(TyperGroup):
    """Ends commands that fail with a line and an exit status instead of a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[failures.AS_JSON] = requests_json(args)
        with failures.reported(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings(), failures.reported(ctx):
            warnings.showwarning = _warn
            for kind in (
                NewKeyWarning,
                PlainModelWarning,
                StaleAnswerWarning,
                UnverifiedWarning,
                WaitingWarning,
            ):
                warnings.simplefilter("always", kind)
            return super().invoke(ctx)


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
    epilog=exitstatus.summary(),
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
    prefetch.prefetch,
    bundles.bundle,
    mirror.mirror,
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
    name = command.__name__.replace("_", "-")
    app.command(name, epilog=examples.examples_text(name))(command)
app.command("import", epilog=examples.examples_text("import"))(imports.import_model)
jobs.app.command()(runon.outputs)
app.add_typer(bench.app, name="bench")
app.add_typer(devices.app, name="devices")
app.add_typer(jobs.app, name="jobs")
app.add_typer(profiles.app, name="profiles")
app.add_typer(targets.app, name="targets")
app.add_typer(cache.app, name="cache")
for group in (app, *(each.typer_instance for each in app.registered_groups)):
    if group is not None:
        join_lines(group)
