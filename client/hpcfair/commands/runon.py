"""Commands for running a model on a device of the hub."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table, say
from hpcfair.commands.run import (
    MinAccuracy,
    Name,
    Revision,
    Tolerated,
    limits_of,
    read_inputs,
    write_outputs,
)
from hpcfair.errors import BadInput
from hpcfair.runon import RemoteRun
from hpcfair.runtimes.base import Array

Option = typer.Option
Output = Annotated[
    Path | None, Option("--output", "-o", help="File to write: .npz, or .npy for a single output.")
]


def run_on(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="Target on whose device it runs.")],
    name: Name,
    arrays: Annotated[
        list[str],
        Option(
            "--input",
            "-i",
            metavar="NAME=FILE",
            help="An input as .npy; repeat it for several inputs. Without a name: the only input, "
            "or all inputs as .npz.",
        ),
    ],
    output: Output = None,
    revision: Revision = None,
    tolerance: Tolerated = None,
    min_accuracy: MinAccuracy = None,
    build: Annotated[str | None, Option(help="Id of the build to run, instead of limits.")] = None,
    wait: Annotated[bool, Option(help="Wait for the end.")] = True,
    as_json: Json = False,
) -> None:
    """Run a model on a device of the hub with your own inputs."""
    run = client_of(context).run_on(
        target,
        name,
        inputs_of(arrays),
        revision=revision,
        build=build,
        wait=wait,
        **limits_of(tolerance, min_accuracy),
    )
    if wait:
        _show(run, output, as_json=as_json)
    elif as_json:
        emit_json({"uuid": run.uuid, "state": run.job.state})
    else:
        say(f"{run.uuid} is queued. Fetch its outputs with: hpcfair jobs outputs {run.uuid}")


def outputs(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(help="Id of the run's job.")],
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Wait for one of your runs and fetch its outputs."""
    run = client_of(context).remote_run(uuid)
    _show(run if run.job.state == "succeeded" else run.wait(), output, as_json=as_json)


def inputs_of(arguments: list[str]) -> Any:
    """The inputs in the arguments: an array, or arrays by input name.

    Raises BadInput for a file that cannot be read, or several inputs without names.
    """
    named: dict[str, Array] = {}
    for argument in arguments:
        name, is_named, path = argument.partition("=")
        value = read_inputs(Path(path if is_named else argument))
        if not is_named:
            if len(arguments) > 1:
                raise BadInput(f"{argument} has no name.", "Write --input NAME=FILE for each.")
            return value
        if isinstance(value, dict):
            raise BadInput(f"{path} has several arrays.", "Write --input FILE for a .npz.")
        named[name] = value
    return named


def _show(run: RemoteRun, output: Path | None, *, as_json: bool) -> None:
    arrays = run.outputs
    if output is not None:
        write_outputs(output, arrays)
    rows = [(key, str(value.dtype), list(value.shape)) for key, value in arrays.items()]
    if as_json:
        emit_json(
            {
                "uuid": run.uuid,
                "device": run.job.device,
                "build": run.build,
                "outputs": [
                    dict(zip(("name", "dtype", "shape"), row, strict=True)) for row in rows
                ],
                "samples_ns": run.samples_ns,
                "median_ns": run.median_ns,
                "deviation": run.deviation,
                "file": output,
            }
        )
        return
    emit_table(("output", "dtype", "shape"), rows)
    say(str(run))
