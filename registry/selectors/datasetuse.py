"""Data sets that cards name, and where they are if they are of this hub."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from django.db.models.functions import Lower
from django.db.models.lookups import In

from registry.fair.parts import DatasetUse
from registry.ids import NAME_RE
from registry.selectors.access import readable_with
from registry.selectors.address import place_of
from registry.selectors.identifier import pid_url
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, MLModel, Namespace


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A data set of this hub; ``pid`` names all its versions together."""

    mlmodel: MLModel
    pid: str | None


def known_datasets(names: Iterable[str]) -> dict[str, KnownDataset]:
    """For lists: those of ``names``, as cards write them, that name data sets of this hub.

    By two queries. DANGER: private ones, too; :func:`datasets_of` tells of what may be told.

    Returns:
        By ``namespace/name`` in lower case.
    """
    wanted = {parts for name in names if (parts := _parts(name))}
    owners = Namespace.objects.filter(In(Lower("name"), sorted({owner for owner, _ in wanted})))
    rows = MLModel.objects.filter(
        In(Lower("name"), sorted({name for _, name in wanted})),
        kind=RepositoryKind.DATASET,
        namespace__in=owners,
    ).select_related("namespace")
    found = {row.full_name.lower(): row for row in rows} if wanted else {}
    concepts = Identifier.objects.filter(mlmodel__in=found.values(), kind=IdentifierKind.CONCEPT)
    pids = dict(concepts.values_list("mlmodel", "name"))
    return {
        name: KnownDataset(row, pid_url(pids[row.pk]) if row.pk in pids else None)
        for name, row in found.items()
    }


def datasets_of(
    uses: Iterable[DatasetUse], mlmodel: MLModel, known: Mapping[str, KnownDataset]
) -> tuple[DatasetUse, ...]:
    """Data sets as the record of a version of ``mlmodel`` names them.

    One of this hub, which all may read who may read ``mlmodel``, with its page and identifier;
    any other as the card has it.

    Args:
        known: See :func:`known_datasets`.
    """
    return tuple(dict.fromkeys(_placed(use, mlmodel, known) for use in uses))


def _placed(use: DatasetUse, mlmodel: MLModel, known: Mapping[str, KnownDataset]) -> DatasetUse:
    parts = _parts(use.name)
    found = known.get("/".join(parts)) if parts else None
    if found is None or not readable_with(found.mlmodel, mlmodel):
        return use
    return replace(use, url=place_of(found.mlmodel).concept, pid=found.pid or use.pid)


def _parts(text: str) -> tuple[str, str] | None:
    """Namespace and name in lower case, of a bare name or of an address of this hub."""
    own = text.removeprefix(f"{settings.HUB_URL}/datasets/").partition("?")[0]
    owner, _, name = own.lower().partition("/")
    return (owner, name) if NAME_RE.fullmatch(owner) and NAME_RE.fullmatch(name) else None
