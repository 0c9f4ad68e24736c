"""Commands for finding and showing models."""

from typing import Annotated, Any, get_args

import typer

from hpcfair.catalogue import Sort
from hpcfair.client import Client
from hpcfair.commands.files import Pulled
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table, say, size
from hpcfair.explain import describe, gain_text, numbers
from hpcfair.searchresults import fastest
from hpcfair.types import MLModel, MLModelSummary

Option = typer.Option
#: Text for the newest run of a build on the test tensors.
_AGAIN = {None: "not run yet", True: "reproduced", False: "not reproduced"}


_Text = str | None
_Task = Annotated[_Text, Option(help="Task, such as image-classification.")]
_License = Annotated[_Text, Option(help="License by SPDX id, such as apache-2.0.")]
_Library = Annotated[_Text, Option(help="Library that the model was made with.")]
_Tag = Annotated[_Text, Option(help="Tag of the card.")]
_Class = Annotated[_Text, Option("--class", help="Architecture class, such as residual-cnn.")]
_By = Annotated[_Text, Option(help="Person or organisation that owns the model.")]
_Signature = Annotated[
    _Text, Option(help="Inputs and outputs, such as 'float32[N,3,64,64] -> float32[N,10]'.")
]
_Target = Annotated[
    _Text, Option(help="Only with a build for this target; auto is this machine's.")
]
_Tolerance = Annotated[_Text, Option(help="Tolerance class of the builds, such as int8.")]
_Latency = Annotated[_Text, Option(help="Latency of the best build, such as '<5ms'.")]
_Gain = Annotated[_Text, Option(help="How many times as fast as the defaults, such as '>2'.")]
_Accuracy = Annotated[_Text, Option(help="Accuracy of the best build, such as '>0.95'.")]
_Throughput = Annotated[_Text, Option(help="Samples per second, offline, such as '>500'.")]
_Parameters = Annotated[_Text, Option(help="Number of parameters, such as '<10M'.")]
_Size = Annotated[_Text, Option(help="Size of the files, such as '<100MB'.")]
_Fair = Annotated[_Text, Option(help="FAIR score in percent, such as '>80'.")]
_Similar = Annotated[_Text, Option("--similar", "--similar-to", help="Models built like this one.")]
_Sort = Annotated[_Text, Option(help=f"Order, one of {', '.join(get_args(Sort))}.")]


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help='Words, "phrases" and filters such as task:x.')] = "",
    task: _Task = None,
    license: _License = None,
    library: _Library = None,
    tag: _Tag = None,
    architecture_class: _Class = None,
    by: _By = None,
    signature: _Signature = None,
    target: _Target = None,
    tolerance: _Tolerance = None,
    latency: _Latency = None,
    gain: _Gain = None,
    accuracy: _Accuracy = None,
    throughput: _Throughput = None,
    parameters: _Parameters = None,
    size: _Size = None,
    fair: _Fair = None,
    similar: _Similar = None,
    sort: _Sort = None,
    limit: Annotated[int, Option(min=1, help="Models to show at most.")] = 30,
    as_json: Json = False,
) -> None:
    """Search for models by words and facts."""
    filters: dict[str, Any] = {
        "task": task,
        "license": license,
        "library": library,
        "tag": tag,
        "architecture_class": architecture_class,
        "by": by,
        "signature": signature,
        "target": target,
        "tolerance": tolerance,
        "latency": latency,
        "gain": gain,
        "accuracy": accuracy,
        "throughput": throughput,
        "parameters": parameters,
        "size": size,
        "fair": fair,
        "similar": similar,
        "sort": sort,
    }
    hits = client_of(context).search(query, limit=limit, **filters)
    if as_json:
        emit_json(hits)
        return
    columns = ["model", "task", "license", "signature", "fastest"]
    rows = [[hit.name, hit.task, hit.license, hit.signature, fastest(hit)] for hit in hits]
    if similar:
        columns.append("alike")
        rows = [[*row, _alike(hit)] for row, hit in zip(rows, hits, strict=True)]
    emit_table(columns, rows)
    if len(hits) < hits.total:
        say(f"{len(hits)} of {hits.total} models; --limit shows more.")
    elif not hits:
        say(" ".join(["No model matches.", *hits.hints]))


def info(
    context: typer.Context,
    name: Pulled,
    as_json: Json = False,
) -> None:
    """Show a model: card, files, builds."""
    client = client_of(context)
    model = client.info(name)
    builds = client.builds(name)
    if as_json:
        emit_json({"model": model, "builds": builds})
        return
    _describe(client, model)
    typer.echo("\nfiles")
    emit_table(
        ("path", "size"), ((f"  {file.path}", size(file.size_bytes)) for file in model.files)
    )
    if builds:
        typer.echo("\nbuilds")
        emit_table(
            ("target", "build", "speed", "tests", "record"),
            (
                (f"  {b.target}", describe(b), numbers(b), _AGAIN[b.reproduced], b.record_id)
                for b in builds
            ),
        )


def _describe(client: Client, model: MLModel) -> None:
    inspection, fault = model.inspection or {}, model.not_runnable or {}
    emit_pairs(
        [
            ("model", model.name),
            ("title", model.title),
            ("about", model.description),
            ("license", model.license),
            ("task", model.task),
            ("library", model.library),
            ("tags", model.tags),
            ("signature", model.signature),
            ("kind", model.architecture_class),
            ("parameters", model.parameters),
            ("revision", model.revision),
            ("branches", [ref.name for ref in model.refs if ref.kind == "branch"]),
            ("tags of revisions", [ref.name for ref in model.refs if ref.kind == "tag"]),
            ("inspection", inspection.get("state")),
            ("problem", "" if fault else inspection.get("detail")),
            ("cannot run", f"{fault['reason']} {fault['remedy']}" if fault else ""),
            ("inconclusive", [f"{t} {' '.join(each)}" for t, each in model.inconclusive.items()]),
            (
                "being confirmed",
                [
                    f"{target} {tolerance}: probably {gain_text(gain)} times as fast"
                    for target, gains in model.probable_gains.items()
                    for tolerance, gain in gains.items()
                ],
            ),
            ("private", "until its files have passed their checks" if model.is_held else ""),
            ("page", f"{client.config.url}/{model.name}"),
        ]
    )


def _alike(hit: MLModelSummary) -> str:
    if hit.similarity is None:
        return ""
    return f"{hit.similarity.score:.0%}: {'; '.join(hit.similarity.alike)}"
