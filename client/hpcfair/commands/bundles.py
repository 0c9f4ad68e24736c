"""Commands for model bundles."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, say, size
from hpcfair.commands.run import Name, Revision
from hpcfair.explain import describe
from hpcfair.localfiles import local_files
from hpcfair.modelbundle.sites import apptainer_definition, module_file, write_text
from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.scenarios import SCENARIOS, SINGLE_STREAM

Option = typer.Option


Output = Annotated[
    Path, Option("--output", "-o", help="File x.hpcfair, or folder x.oci: an OCI image layout.")
]
Targets = Annotated[
    list[str] | None, Option(help="Target of builds; default: this machine's. May be repeated.")
]
Tolerances = Annotated[
    list[str] | None,
    Option(help=f"Class of builds: {', '.join(TOLERANCES)}; default: exact. May be repeated."),
]
Scenarios = Annotated[
    list[str] | None, Option(help=f"Scenario: {', '.join(SCENARIOS)}. May be repeated.")
]
Weights = Annotated[
    bool, Option("--weights/--no-weights", help="Whether to pack the published network, too.")
]
ModuleFile = Annotated[Path | None, Option(help="Also write this module file (.lua) for Lmod.")]
Definition = Annotated[Path | None, Option(help="Also write this definition (.def) for Apptainer.")]


def bundle(
    context: typer.Context,
    name: Name,
    output: Output,
    revision: Revision = None,
    target: Targets = None,
    tolerance: Tolerances = None,
    scenario: Scenarios = None,
    weights: Weights = True,
    lmod: ModuleFile = None,
    apptainer: Definition = None,
    as_json: Json = False,
) -> None:
    """Pack a model, its builds and evidence into a file that runs without the hub."""
    scenarios: list[Any] = scenario or [SINGLE_STREAM]
    summary = client_of(context).bundle(
        name,
        output,
        revision=revision,
        targets=target or (),
        tolerances=cast("list[Tolerance]", tolerance) or TOLERANCES[:1],
        scenarios=scenarios,
        weights=weights,
    )
    for path, text_of in ((lmod, module_file), (apptainer, apptainer_definition)):
        if path is not None:
            with local_files(path.parent):
                write_text(path, text_of(summary))
    if as_json:
        emit_json(summary)
        return
    for build in summary.builds:
        say(f"{build.target}: {describe(build)}")
    if not summary.builds:
        say("No build for these targets: the published network alone is packed.")
    say(
        f"{summary.path}: {summary.name} at {summary.revision[:12]}, {size(summary.size_bytes)}. "
        f"Run it anywhere: hpcfair load {summary.path}"
    )
