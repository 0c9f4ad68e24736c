"""Commands for loading and running a model."""

import time
import zlib
from pathlib import Path
from typing import Annotated, Any, TypedDict
from zipfile import BadZipFile

import numpy as np
import typer

from hpcfair.commands.argumentorder import require_path
from hpcfair.commands.completion import complete_name
from hpcfair.commands.hub import client_of
from hpcfair.commands.modelnames import remember_name
from hpcfair.commands.output import Json, emit_json, emit_table, say
from hpcfair.errors import BadInput
from hpcfair.explain import summary
from hpcfair.loaded import Loaded
from hpcfair.localfiles import local_files
from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.runtimes.base import Array
from hpcfair.scenarios import SCENARIOS, SINGLE_STREAM, checked_scenario

Option = typer.Option
Name = Annotated[
    str,
    typer.Argument(
        help="namespace/name, ark:..., doi:..., or x.hpcfair",
        autocompletion=complete_name,
        callback=remember_name,
    ),
]
Revision = Annotated[
    str | None, Option(help="Branch, tag or commit id; default: the default branch.")
]
Target = Annotated[
    str, Option(help="auto, another target this machine can run, or none for the plain model.")
]
Tolerated = Annotated[
    str | None,
    Option(
        help=f"{', '.join(TOLERANCES)}, or the largest relative error such as 0.01; else exact, "
        "or any with --min-accuracy."
    ),
]
MinAccuracy = Annotated[
    float | None, Option(help="Least accuracy on labelled samples, such as 0.97.")
]
ScenarioName = Annotated[
    str, Option("--scenario", help=f"What it is to be fast at: {', '.join(SCENARIOS)}.")
]
Signed = Annotated[
    bool | None,
    Option("--signed/--unsigned", help="Refuse what the hub did not sign; else HPCFAIR_SIGNED."),
]
Isolated = Annotated[
    bool, Option("--isolated", help="Run it in a child process without network and files.")
]
_INPUTS = "inputs/"


class OutputLimits(TypedDict):
    """Arguments of :meth:`hpcfair.Client.load` that limit the outputs."""

    tolerance: Tolerance | float | None
    min_accuracy: float | None


def load(
    context: typer.Context,
    name: Name,
    revision: Revision = None,
    target: Target = "auto",
    tolerance: Tolerated = None,
    min_accuracy: MinAccuracy = None,
    scenario: ScenarioName = SINGLE_STREAM,
    verify: Annotated[
        bool, Option("--verify", help="Hash all files again, and ask the hub in any case.")
    ] = False,
    signed: Signed = None,
    isolated: Isolated = False,
    as_json: Json = False,
) -> None:
    """Download the best build for this machine and explain the choice."""
    limits = limits_of(tolerance, min_accuracy)
    with load_model(
        context,
        name,
        revision,
        target,
        limits,
        scenario=scenario,
        verify=verify,
        signed=signed,
        isolated=isolated,
    ) as model:
        if as_json:
            emit_json(
                {
                    "name": model.name,
                    "revision": model.revision,
                    "signature": str(model.signature),
                    "build": model.build,
                    "path": model.path,
                }
            )
        else:
            typer.echo(model.explain())


def run(
    context: typer.Context,
    name: Name,
    arrays: Annotated[Path, typer.Argument(help=".npy of the one input, or .npz by input name.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help=".npz, or .npy of the one output.")
    ] = None,
    revision: Revision = None,
    target: Target = "auto",
    tolerance: Tolerated = None,
    min_accuracy: MinAccuracy = None,
    scenario: ScenarioName = SINGLE_STREAM,
    signed: Signed = None,
    isolated: Isolated = False,
    as_json: Json = False,
) -> None:
    """Run the best build on arrays in a file.

    In the scenarios offline and multi-stream, their rows are run in the batches and streams of
    the build.
    """
    require_path("run", arrays, name)
    inputs = read_inputs(arrays)
    limits = limits_of(tolerance, min_accuracy)
    with load_model(
        context,
        name,
        revision,
        target,
        limits,
        scenario=scenario,
        signed=signed,
        isolated=isolated,
    ) as model:
        start = time.perf_counter()
        outputs = model.run(inputs) if model.execution is None else run_rows(model, inputs)
        spent_ms = (time.perf_counter() - start) * 1e3
        ran = summary(model.resolution)
        if model.execution is not None:
            ran = f"{ran}, {model.execution}"
    if output is not None:
        write_outputs(output, outputs)
    rows = [(key, str(value.dtype), list(value.shape)) for key, value in outputs.items()]
    if as_json:
        listed = [{"name": key, "dtype": dtype, "shape": shape} for key, dtype, shape in rows]
        emit_json({"outputs": listed, "first_run_ms": spent_ms, "file": output})
    else:
        emit_table(("output", "dtype", "shape"), rows)
        say(f"{name}: {ran}. One run, the first, took {spent_ms:.3g} ms.")


def run_rows(model: Loaded, inputs: Any) -> dict[str, Array]:
    """Run all rows of the inputs with the model's batch and streams; returns outputs by name."""
    (outputs,) = model.map([inputs])
    if isinstance(outputs, dict):
        return outputs
    return {model.signature.outputs[0].name: outputs}


def limits_of(tolerance: str | None, min_accuracy: float | None) -> OutputLimits:
    """The limits of the outputs that options state; raises BadInput for unknown words."""
    limit: Any = tolerance
    if tolerance is not None and tolerance not in TOLERANCES:
        try:
            limit = float(tolerance)
        except ValueError:
            # The client says what there is.
            limit = tolerance
    return {"tolerance": limit, "min_accuracy": min_accuracy}


def load_model(
    context: typer.Context,
    name: str,
    revision: str | None,
    target: str,
    limits: OutputLimits,
    *,
    scenario: str = SINGLE_STREAM,
    verify: bool = False,
    signed: bool | None = None,
    isolated: bool = False,
) -> Loaded:
    """The model that the arguments of a command name."""
    return client_of(context).load(
        name,
        revision=revision,
        target=None if target == "none" else target,
        scenario=checked_scenario(scenario),
        verify=verify,
        signed=signed,
        isolated=isolated,
        **limits,
    )


def read_inputs(path: Path) -> Any:
    """An array, or arrays by name; of a samples file, its inputs."""
    try:
        # NumPy leaves a file open that it opens itself and cannot read.
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            arrays = {name: loaded[name] for name in loaded.files}
    except FileNotFoundError as error:
        raise BadInput(f"There is no file {path}.", "Give a .npy or .npz file.") from error
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as error:
        raise BadInput(f"{path} is not a .npy or .npz file: {error}.") from error
    inputs = {
        name.removeprefix(_INPUTS): array
        for name, array in arrays.items()
        if name.startswith(_INPUTS)
    }
    return inputs or arrays


def write_outputs(path: Path, outputs: dict[str, Array]) -> None:
    """Write arrays by name; text as text, because a pickle would be refused when it is read."""
    arrays = {key: a.astype(str) if a.dtype == object else a for key, a in outputs.items()}
    with local_files(path.parent):
        if path.suffix == ".npy":
            if len(arrays) != 1:
                raise BadInput("The model has several outputs.", "Write to a .npz file.")
            np.save(path, next(iter(arrays.values())))
        else:
            np.savez(path, **arrays)  # type: ignore[arg-type]
