"""Sources and data sets of a version, as its record names them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from django.conf import settings
from django.db.models.functions import Lower
from django.db.models.lookups import In

from registry.fair.parts import DatasetUse, DerivationDescription, RelationName
from registry.ids import NAME_RE
from registry.selectors.access import readable_with
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import pid_url
from registry.selectors.fair.source import (
    HUB_RELATIONS,
    source_name,
    source_url,
    source_version_url,
)
from registry.states import IdentifierKind, Relation, RepositoryKind
from registry.tables import Derivation, Identifier, MLModel, Namespace


@dataclass(frozen=True, slots=True)
class HubDataset:
    """A data set of this hub; ``pid`` identifies all its versions together."""

    mlmodel: MLModel
    pid: str | None


def describe_sources(
    rows: Iterable[Derivation], mlmodel: MLModel, pids: Mapping[int, str]
) -> tuple[DerivationDescription, ...]:
    """Sources of a version of ``mlmodel``, without those that some of its readers may not see.

    ``rows`` are of the version, with the namespaces of their sources; ``pids`` are from
    :func:`registry.selectors.fair.source.source_pids`.
    """
    sources = (_source(row, mlmodel, pids.get(row.pk)) for row in rows)
    return tuple(dict.fromkeys(source for source in sources if source))


def hub_datasets(names: Iterable[str]) -> dict[str, HubDataset]:
    """Data sets of this hub among ``names``, as in cards, by ``namespace/name`` in lower case.

    Makes two queries. DANGER: private ones are included; :func:`describe_datasets` leaves them out.
    """
    pairs = {pair for name in names if (pair := _full_name(name))}
    owners = Namespace.objects.filter(In(Lower("name"), sorted({owner for owner, _ in pairs})))
    rows = MLModel.objects.filter(
        In(Lower("name"), sorted({name for _, name in pairs})),
        kind=RepositoryKind.DATASET,
        namespace__in=owners,
    ).select_related("namespace")
    datasets = {row.full_name.lower(): row for row in rows} if pairs else {}
    identifiers = Identifier.objects.filter(
        mlmodel__in=list(datasets.values()), kind=IdentifierKind.CONCEPT
    )
    pids = dict(identifiers.values_list("mlmodel", "name"))
    return {
        name: HubDataset(row, pid_url(pids[row.pk]) if row.pk in pids else None)
        for name, row in datasets.items()
    }


def describe_datasets(
    uses: Collection[DatasetUse], mlmodel: MLModel, datasets: Mapping[str, HubDataset] | None = None
) -> tuple[DatasetUse, ...]:
    """Data sets as the record of a version of ``mlmodel`` names them.

    A data set of this hub gets its page and identifier if every reader of ``mlmodel`` may read it;
    all others stay as the card has them. ``datasets`` are from :func:`hub_datasets`; queried if
    absent.
    """
    datasets = hub_datasets(use.name for use in uses) if datasets is None else datasets
    return tuple(dict.fromkeys(_dataset(use, mlmodel, datasets) for use in uses))


def _source(row: Derivation, mlmodel: MLModel, pid: str | None) -> DerivationDescription | None:
    relation = cast("RelationName", str(row.relation))
    source, oid = row.source_mlmodel, row.source_oid or None
    if source is not None and readable_with(source, mlmodel):
        address = repository_address(source)
        return DerivationDescription(
            relation=relation,
            source=source.full_name,
            url=address.version(oid) if oid else address.concept,
            pid=pid,
            oid=oid,
        )
    if source is None and pid is not None:
        return DerivationDescription(
            relation=relation, source=source_name(row.source), pid=pid, oid=oid
        )
    if row.relation in HUB_RELATIONS:
        return None
    if row.relation == Relation.IMPORT:
        return DerivationDescription(
            relation=relation, source=row.source, url=source_version_url(row), oid=oid
        )
    return DerivationDescription(relation=relation, source=row.source, url=source_url(row.source))


def _dataset(use: DatasetUse, mlmodel: MLModel, datasets: Mapping[str, HubDataset]) -> DatasetUse:
    name = _full_name(use.name)
    dataset = datasets.get("/".join(name)) if name else None
    if dataset is None or not readable_with(dataset.mlmodel, mlmodel):
        return use
    url = repository_address(dataset.mlmodel).concept
    return replace(use, url=url, pid=dataset.pid or use.pid)


def _full_name(text: str) -> tuple[str, str] | None:
    """Namespace and name in lower case, of a bare name or of an address of this hub."""
    own = text.removeprefix(f"{settings.HUB_URL}/datasets/").partition("?")[0]
    owner, _, name = own.lower().partition("/")
    return (owner, name) if NAME_RE.fullmatch(owner) and NAME_RE.fullmatch(name) else None
