"""Ways to fetch a model or a data set with the programs of others."""

from dataclasses import dataclass

from hub.pages import snippets
from hub.pages.addresses import clone_address
from hub.pages.snippets import Snippet
from registry.states import Gate, RepositoryKind, Visibility
from registry.tables import MLModel


@dataclass(frozen=True, slots=True)
class Way:
    """A way with its snippets, which run in order. ``key`` is unique on the page."""

    key: str
    title: str
    help: str
    snippets: list[Snippet]


def is_closed(mlmodel: MLModel) -> bool:
    """Whether strangers may not fetch its files."""
    return mlmodel.visibility == Visibility.PRIVATE or mlmodel.gate != Gate.OPEN


def ways_of(mlmodel: MLModel, hub_url: str, revision: str) -> list[Way]:
    """The ways to fetch its files; ``revision`` is "" for the default branch."""
    is_dataset = mlmodel.kind == RepositoryKind.DATASET
    sign_in = is_closed(mlmodel)
    library = "transformers" if mlmodel.library == "transformers" else ""
    python = snippets.download(
        hub_url,
        mlmodel.full_name,
        revision=revision,
        library=library,
        is_dataset=is_dataset,
        sign_in=sign_in,
    )
    shell = snippets.hf(
        hub_url, mlmodel.full_name, revision=revision, is_dataset=is_dataset, sign_in=sign_in
    )
    title = "datasets" if is_dataset else library or "huggingface_hub"
    return [
        Way("library", title, "The files as published; unmodified libraries work.", python),
        Way("hf", "hf", "Interrupted downloads resume; hf upload uploads changes.", shell),
        Way(
            "git",
            "git",
            "Without large files: GIT_LFS_SKIP_SMUDGE=1 in front.",
            snippets.git(clone_address(mlmodel)),
        ),
    ]
