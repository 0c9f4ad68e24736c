"""Commands for finding and showing models."""

from typing import Annotated, Any

import typer

from hpcfair.client import Client
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table, say, size
from hpcfair.explain import describe, numbers
from hpcfair.types import MLModel

Option = typer.Option
#: Text for the newest run of a build on the test tensors.
_AGAIN = {None: "not run yet", True: "reproduced", False: "not reproduced"}


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help='Words, "phrases" and filters such as task:x.')] = "",
    task: Annotated[str | None, Option(help="Such as image-classification.")] = None,
    license: Annotated[str | None, Option(help="SPDX id, such as apache-2.0.")] = None,
    library: Annotated[str | None, Option(help="What the model was made with.")] = None,
    tag: Annotated[str | None, Option()] = None,
    signature: Annotated[
        str | None, Option(help="Such as 'float32[N,3,64,64] -> float32[N,10]'.")
    ] = None,
    target: Annotated[
        str | None, Option(help="Has a build for this hardware; auto is this machine's.")
    ] = None,
    similar_to: Annotated[str | None, Option(help="Built like this model.")] = None,
    sort: Annotated[str | None, Option(help="relevance, updated, downloads or name.")] = None,
    limit: Annotated[int, Option(min=1, help="Models to show at most.")] = 30,
    as_json: Json = False,
) -> None:
    """Search for models."""
    filters: Any = {"sort": sort}
    hits = client_of(context).search(
        query,
        limit=limit,
        task=task,
        license=license,
        library=library,
        tag=tag,
        signature=signature,
        target=target,
        similar_to=similar_to,
        **filters,
    )
    if as_json:
        emit_json(hits)
        return
    emit_table(
        ("model", "task", "license", "signature", "fastest"),
        ((hit.name, hit.task, hit.license, hit.signature, _fastest(hit.builds)) for hit in hits),
    )
    if len(hits) < hits.total:
        say(f"{len(hits)} of {hits.total} models; --limit shows more.")
    elif not hits:
        say("No model matches.")


def info(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="namespace/name, ark:..., or doi:...")],
    as_json: Json = False,
) -> None:
    """Show a model: card, files, builds."""
    client = client_of(context)
    name, revision = client.locate(name)
    model = client.info(name)
    builds = client.builds(name, revision=revision)
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
    inspection = model.inspection or {}
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
            ("problem", inspection.get("detail")),
            ("page", f"{client.config.url}/{model.name}"),
        ]
    )


def _fastest(builds: dict[str, float]) -> str:
    if not builds:
        return ""
    target, ratio = min(builds.items(), key=lambda item: item[1])
    return f"{ratio:.2f} on {target}"
