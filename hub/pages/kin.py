"""Relatives of a model in its lineage: data sets, builds, and the table of activities."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from hub.pages.addresses import address
from registry.fair.activities import Activity, BuildDescription
from registry.fair.description import Description
from registry.fair.iris import iri
from registry.fair.parts import DatasetRole, DatasetUse
from registry.selectors.access import Actor
from registry.selectors.repository.dataset import models_with
from registry.states import RepositoryKind, Visibility
from registry.tables import MLModel

_MOST_BUILDS, _MOST_MODELS = 12, 20
_MOST_ACTS = 100
#: Role of a data set: edge label, and verb of the sentence.
_SERVED: dict[DatasetRole, tuple[str, str]] = {
    "trained": ("trained on", "was trained on"),
    "validated": ("validated on", "was validated on"),
    "tested": ("tested on", "was tested on"),
    "mentioned": ("mentioned", "mentions"),
}
_MADE = {
    "compile": ("compiled", "was compiled from"),
    "convert": ("converted", "was converted from"),
    "quantise": ("quantised", "was quantised from"),
}
_DEFAULT = ("default", "is the default of")


@dataclass(frozen=True, slots=True)
class Kin:
    """A source or product of the page's model or data set that is no node of the lineage itself.

    Attributes:
        sort: Short description of its kind.
        url, lineage_url: Addresses of its page, "" if it has none, and of its lineage or else page.
        label, words: The relation: edge label, and verb of the sentence.
        is_origin: Whether it is a source; otherwise it is a product.
    """

    key: str
    name: str
    short: str
    sort: str
    url: str
    lineage_url: str
    label: str
    words: str
    is_origin: bool


@dataclass(frozen=True, slots=True)
class Act:
    """A row of the table of activities; ``tools`` are names with versions."""

    title: str
    url: str
    who: str
    who_url: str
    ended: datetime | None
    hardware: str
    tools: str
    seed: int | None


def kin_of(actor: Actor, mlmodel: MLModel, description: Description) -> tuple[list[Kin], bool]:
    """Relatives of a model (data sets, builds) or of a data set (models); whether these are all."""
    if mlmodel.kind == RepositoryKind.DATASET:
        models, is_all = models_with(actor, mlmodel, _MOST_MODELS)
        return [_model(one) for one in models], is_all
    makings = {
        url: one.kind
        for one in description.activities
        if one.kind in _MADE
        for url in one.generated
    }
    # If there are too many, the slowest are omitted.
    builds = sorted(description.builds, key=lambda one: one.benchmark.ratio or 1)
    return [
        *(_dataset(one) for one in description.datasets),
        *(_build(one, makings.get(one.url)) for one in builds[:_MOST_BUILDS]),
    ], len(builds) <= _MOST_BUILDS


def acts_of(description: Description) -> Sequence[Act]:
    """The activities, newest first; those without a time come last."""
    return [_act(one) for one in reversed(description.activities)][:_MOST_ACTS]


def local(url: str) -> str:
    """An address relative to this hub; others are unchanged."""
    return url.removeprefix(settings.HUB_URL)


def _model(one: MLModel) -> Kin:
    label, words = _SERVED["trained"]
    sort = "model, private" if one.visibility == Visibility.PRIVATE else "model"
    return Kin(
        key=f"here {one.pk}",
        name=one.full_name,
        short=one.full_name,
        sort=sort,
        url=address(one, "card"),
        lineage_url=address(one, "lineage"),
        label=label,
        words=words,
        is_origin=False,
    )


def _dataset(use: DatasetUse) -> Kin:
    label, words = _SERVED[use.role]
    # Cards are untrusted.
    url = local(iri(use.url) or iri(use.pid) or "")
    is_here = url.startswith("/datasets/")
    return Kin(
        key=f"data {(url or use.name).casefold()}",
        name=use.name,
        short=use.name,
        sort="data set" if is_here else "data set, not on this hub",
        url=url,
        lineage_url=f"{url}/lineage" if is_here else url,
        label=label,
        words=words,
        is_origin=True,
    )


def _build(one: BuildDescription, kind: str | None) -> Kin:
    label, words = _DEFAULT if one.is_baseline else _MADE.get(kind or "", _MADE["compile"])
    short = f"{one.backend}, {one.tolerance}"
    return Kin(
        key=f"build {one.uuid}",
        name=f"The build {short} for {one.target}",
        short=short,
        sort=f"build, {one.target}",
        url=local(one.url),
        lineage_url=local(one.url),
        label=label,
        words=words,
        is_origin=False,
    )


def _act(one: Activity) -> Act:
    return Act(
        title=one.title,
        url=local(one.url),
        who=one.agent.name if one.agent else "",
        who_url=local(one.agent.url or "") if one.agent else "",
        ended=one.ended,
        hardware=one.hardware or "",
        tools=", ".join(" ".join(filter(None, (tool.name, tool.version))) for tool in one.tools),
        seed=one.seed,
    )
