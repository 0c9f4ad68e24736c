"""Index documents of MLModels, built from rows."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Max, Q, QuerySet
from django.db.models.functions import Coalesce

from registry.errors import RegistryError
from registry.scenarios import Scenario
from registry.search import fit
from registry.search import signature as signatures
from registry.search.comparisons import encode
from registry.search.parser import fold
from registry.search.schema import ANY, grams, share_term, shares_of, spellings, term
from registry.search.vocabulary import NUMBERS
from registry.states import RefKind, RepositoryKind, Visibility
from registry.storage import blob_store
from registry.tables import Assessment, BestBuild, Build, File, Graph, MLModel, Ref

Document = dict[str, Any]

#: Number of rows read at once.
BATCH = 500
_SPEEDS = ("ns", "ratio", "accuracy", "throughput")
#: Scenario to the columns of the index that are of its best builds.
_COLUMNS_OF: dict[str, tuple[str, ...]] = {
    Scenario.SINGLE_STREAM: ("ns", "ratio", "accuracy"),
    Scenario.OFFLINE: ("throughput",),
}
#: Indexed part of a README.
_README_BYTES = 128 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRONT_MATTER = re.compile(r"\A\ufeff?\s*---[ \t]*\r?\n.*?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def documents_of(uuids: Iterable[UUID]) -> Iterator[Document]:
    """Documents of the MLModels that exist."""
    yield from _documents(list(_rows().filter(uuid__in=list(uuids))))


def all_documents(*, after: int = 0) -> Iterator[Document]:
    """Documents of all MLModels of a key above ``after``, by key, read in batches."""
    last = after
    while batch := list(_rows().filter(pk__gt=last)[:BATCH]):
        yield from _documents(batch)
        last = batch[-1].pk


def reader_public() -> str:
    """The term of documents that everybody may read."""
    return term("reader", "public")


def reader_member(namespace_pk: int) -> str:
    """The term of documents that members of a namespace may read."""
    return term("reader", str(namespace_pk))


def reader_hub() -> str:
    """The term of all documents."""
    return term("reader", "hub")


def kind_term(kind: RepositoryKind) -> str:
    """The term of the repositories of a kind."""
    return term("kind", kind)


def _rows() -> QuerySet[MLModel]:
    return MLModel.objects.select_related("namespace").prefetch_related("tags").order_by("pk")


def _documents(mlmodels: list[MLModel]) -> Iterator[Document]:
    facts = _Facts(mlmodels)
    for mlmodel in mlmodels:
        yield _document(mlmodel, facts)


def _document(mlmodel: MLModel, facts: "_Facts") -> Document:
    identity: Document = {
        "uuid": str(mlmodel.uuid),
        "pk": mlmodel.pk,
        "terms": [kind_term(RepositoryKind(mlmodel.kind))],
        "grams": grams(mlmodel.full_name),
    }
    if mlmodel.kind != RepositoryKind.MODEL:
        # The catalogue is of models. Without a term of readers, no search of it has this document.
        return identity
    graph = facts.graphs.get(mlmodel.pk)
    namespace, name = mlmodel.namespace.name, mlmodel.name
    facets = {
        "task": [mlmodel.task],
        "license": [mlmodel.license],
        "library": [mlmodel.library],
        "architecture_class": [graph.architecture_class if graph else ""],
        "tag": [tag.value for tag in mlmodel.tags.all()],
        "target": facts.targets[mlmodel.pk],
    }
    folded = {key: sorted({fold(v) for v in values if v}) for key, values in facets.items()}
    keywords = [value for key, values in folded.items() if key != "target" for value in values]
    updated_us = (mlmodel.updated_at - _EPOCH) // timedelta(microseconds=1)
    return {
        **identity,
        "terms": [
            *identity["terms"],
            *(share_term(divisor) for divisor in shares_of(mlmodel.uuid)),
            *_reader_terms(mlmodel),
            term("namespace", fold(namespace)),
            *(term(key, value) for key, values in folded.items() for value in values),
            *_graph_terms(graph),
        ],
        "name": [namespace, name, spellings(name)],
        "title": [mlmodel.title, spellings(mlmodel.title)],
        "keywords": keywords,
        "description": mlmodel.description,
        "body": facts.readmes.get(mlmodel.pk, ""),
        "by_updated": f"{updated_us:020d}-{mlmodel.pk:020d}",
        "by_downloads": f"{mlmodel.downloads:020d}-{mlmodel.pk:020d}",
        "by_name": f"{namespace}/{name}".lower(),
        **_numbers(mlmodel, facts),
        **folded,
        "structure": graph.graph_hash if graph else [],
        # Not a field of the index: the writer stores it with the structure.
        "embedding": (graph.architecture_class, graph.embedding) if graph else None,
    }


def _numbers(mlmodel: MLModel, facts: "_Facts") -> Document:
    graph = facts.graphs.get(mlmodel.pk)
    numbers = {
        "parameters": graph.parameters if graph else mlmodel.parameters,
        "size": facts.sizes.get(mlmodel.pk),
        "fair": facts.fair_scores.get(mlmodel.pk),
    }
    fields: Document = {key: encode(value) for key, value in numbers.items() if value is not None}
    speeds = facts.speeds.get(mlmodel.pk)
    return {**fields, "speed": speeds} if speeds else fields


def _reader_terms(mlmodel: MLModel) -> Iterator[str]:
    yield reader_hub()
    yield reader_member(mlmodel.namespace_id)
    if mlmodel.visibility == Visibility.PUBLIC:
        yield reader_public()


def _graph_terms(graph: Graph | None) -> Iterator[str]:
    if graph:
        yield term("structure", graph.graph_hash)
        yield term("has", "structure")
        yield from fit.terms(signatures.of_facts(graph.signature))


class _Facts:
    """Values of other tables for a batch of MLModels, by key of the MLModel."""

    def __init__(self, mlmodels: list[MLModel]) -> None:
        keys = [mlmodel.pk for mlmodel in mlmodels]
        heads = Ref.objects.filter(
            mlmodel__in=keys, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
        )
        columns = ("mlmodel_id", "revision_id", "revision__size_bytes")
        rows = list(heads.values_list(*columns))
        owner = {revision: pk for pk, revision, _ in rows}
        self.sizes = {pk: size_bytes for pk, _, size_bytes in rows}
        self.fair_scores = fair_scores(keys, owner)
        self.speeds = _speeds(keys)
        graphs = Graph.objects.filter(revision__in=owner, is_primary=True).order_by("-path")
        # Of several primary graphs the first by path is used, as by graph_of.
        self.graphs = {owner[graph.revision_id]: graph for graph in graphs}

        self.targets: dict[int, list[str]] = defaultdict(list)
        builds = Build.objects.filter(graph__in=list(graphs), withdrawn_at__isnull=True)
        for revision, slug in builds.values_list("graph__revision_id", "target__slug").distinct():
            self.targets[owner[revision]].append(slug)

        readmes = File.objects.of(owner.keys()).filter(path="README.md")
        self.readmes = {
            owner[revision]: _readme(sha256)
            for revision, sha256 in readmes.values_list("series__revisions", "blob_id")
        }


def fair_scores(mlmodels: Iterable[int], heads: Iterable[int]) -> dict[int, float]:
    """FAIR scores in percent by key of the MLModel.

    Of the newest assessment of the head; of any version if the head was not assessed yet.
    """
    rows = Assessment.objects.filter(revision__mlmodel__in=mlmodels).order_by()
    newest = rows.values("revision__mlmodel").annotate(
        newest=Coalesce(Max("pk", filter=Q(revision__in=heads)), Max("pk"))
    )
    scored = Assessment.objects.filter(pk__in=newest.values("newest"), most__gt=0)
    columns = ("revision__mlmodel", "points", "most")
    return {pk: 100 * points / most for pk, points, most in scored.values_list(*columns)}


def _speeds(mlmodels: Iterable[int]) -> dict[int, Document]:
    """By key of the MLModel: target, tolerance class and column to encoded numbers."""
    numbers = {one.column: one for one in NUMBERS.values() if one.is_speed}
    facts = ("mlmodel", "target__slug", "target__is_emulated", "tolerance")
    columns = (*facts, "scenario", "p50_ns", "ratio", "accuracy", "throughput_per_s")
    speeds: dict[int, Document] = {}
    rows = BestBuild.objects.filter(mlmodel__in=mlmodels, scenario__in=_COLUMNS_OF)
    for pk, slug, is_emulated, tolerance, scenario, *values in rows.values_list(*columns):
        # Speeds of emulated machines match only a search that names their target.
        places = (slug,) if is_emulated else (slug, ANY)
        # The columns of the index, in the order of the table's.
        for column, value in zip(_SPEEDS, values, strict=True):
            if value is None or column not in _COLUMNS_OF[scenario]:
                continue
            best = min if numbers[column].is_least_best else max
            of_model = speeds.setdefault(pk, {})
            for target in places:
                place = of_model.setdefault(target, {}).setdefault(tolerance, {})
                place[column] = best(place.get(column, encode(value)), encode(value))
    return speeds


def _readme(sha256: str) -> str:
    """The beginning of a README without its front matter; "" if it cannot be read."""
    try:
        with blob_store().open(sha256) as stream:
            text = stream.read(_README_BYTES).decode(errors="replace")
    except (OSError, RegistryError):
        return ""
    return _FRONT_MATTER.sub("", text, count=1)
