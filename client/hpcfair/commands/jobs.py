"""Commands for jobs."""

from itertools import islice
from typing import Annotated, Any

import typer

from hpcfair.commands.files import Name
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table, say
from hpcfair.explain import ratio_text
from hpcfair.job import Job

Option = typer.Option
Uuid = Annotated[str, typer.Argument(help="Id of the job.")]

app = typer.Typer(no_args_is_help=True, help="List, watch and cancel work on the hub.")


def tune(
    context: typer.Context,
    name: Name,
    target: Annotated[
        list[str] | None, Option(help="Target; default: all. May be given several times.")
    ] = None,
    budget: Annotated[str | None, Option(help="Search time, such as 10min.")] = None,
    revision: Annotated[str | None, Option(help="Branch, tag or commit id.")] = None,
    strategy: Annotated[str | None, Option(help="Search strategy.")] = None,
    wait: Annotated[bool, Option(help="Wait for the end.")] = True,
    as_json: Json = False,
) -> None:
    """Request searches for faster builds of a model."""
    searches = client_of(context).tune(
        name, targets=target, budget=budget, revision=revision, strategy=strategy
    )
    if wait:
        searches.wait()
    if as_json:
        emit_json([document_of(job) for job in searches])
    else:
        _table(list(searches))


@app.command("list")
def list_(
    context: typer.Context,
    model: Annotated[str | None, Option(help="Only jobs of this model.")] = None,
    state: Annotated[
        str | None, Option(help="State: queued, leased, succeeded, failed or cancelled.")
    ] = None,
    kind: Annotated[
        str | None,
        Option(help="Kind, such as inspect, tune, schedule, ablate or run."),
    ] = None,
    target: Annotated[str | None, Option(help="Only jobs for this target.")] = None,
    limit: Annotated[int, Option(min=1, help="Jobs to show at most.")] = 30,
    as_json: Json = False,
) -> None:
    """List jobs, newest first."""
    jobs = client_of(context).jobs(model=model, state=state, kind=kind, target=target)
    shown = list(islice(jobs, limit))
    if as_json:
        emit_json([document_of(job) for job in shown])
    else:
        _table(shown)


@app.command()
def show(context: typer.Context, uuid: Uuid, as_json: Json = False) -> None:
    """Show a job with its trials and log."""
    job = client_of(context).job(uuid)
    trials, events = job.trials, job.events
    if as_json:
        emit_json({**document_of(job), "trials": trials, "events": events})
        return
    failure = job.failure or {}
    emit_pairs(
        [
            ("job", job.uuid),
            ("what", job.title),
            ("revision", job.revision),
            ("state", job.state),
            ("device", job.device),
            ("created", job.created_at),
            ("started", job.started_at),
            ("ended", job.ended_at),
            ("failure", failure.get("code")),
            ("because", failure.get("detail")),
        ]
    )
    if trials:
        typer.echo("")
        emit_table(
            ("trial", "candidate", "outcome", "compared"),
            (
                (
                    trial.number,
                    " ".join(f"{k}={v}" for k, v in trial.candidate.get("options", {}).items()),
                    trial.outcome,
                    trial.failure_detail
                    or ratio_text(trial.ratio, trial.ratio_low, trial.ratio_high),
                )
                for trial in trials
            ),
        )
    for event in events:
        typer.echo(f"{event.get('at')}  {event.get('message')}")


@app.command()
def wait(context: typer.Context, uuid: Uuid, as_json: Json = False) -> None:
    """Wait until a job ends."""
    job = client_of(context).job(uuid).wait()
    if as_json:
        emit_json(document_of(job))
    else:
        say(f"{job.title}: {job.state}.")


@app.command()
def cancel(context: typer.Context, uuid: Uuid, as_json: Json = False) -> None:
    """Cancel a job."""
    job = client_of(context).job(uuid).cancel()
    if as_json:
        emit_json(document_of(job))
    else:
        say(f"{job.title}: {job.state}.")


def _table(jobs: list[Job]) -> None:
    emit_table(
        ("job", "kind", "model", "target", "state", "created"),
        ((j.uuid, j.kind, j.model, j.target, j.state, j.created_at) for j in jobs),
    )


def document_of(job: Job) -> dict[str, Any]:
    """A job as JSON."""
    fields = ("uuid", "kind", "model", "revision", "target", "state", "device", "progress")
    rest = ("result", "failure", "queue_position", "created_at", "started_at", "ended_at")
    return {name: getattr(job, name) for name in fields + rest}
