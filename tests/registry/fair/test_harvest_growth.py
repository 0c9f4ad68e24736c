"""What harvesters cost on a hub with thousands of records: as much as on a small one."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from registry.fair.freeze import dump
from registry.selectors.fair.catalog import listed, listed_pages
from registry.selectors.fair.changes import changes_part
from registry.selectors.fair.description import describe
from registry.selectors.fair.dump import dump_state
from registry.selectors.fair.harvest import (
    HarvestCursor,
    HarvestSelection,
    harvest_begin,
    harvest_count,
    harvest_part,
)
from registry.selectors.fair.sitemap import addresses_changed
from registry.states import IdentifierKind, RepositoryKind, Visibility
from registry.tables import AuditEntry, Identifier, MLModel, Namespace, Revision
from registry.tables.repository.mlmodel import SITE_MAP_PART
from tests.hub.fair.crowd import make_crowd
from tests.plans import assert_reads_few

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MANY = 6000


@pytest.fixture
def crowd(lab: Namespace) -> list[MLModel]:
    """Many models that changed at the same moment; a third is private, a tenth was withdrawn."""
    mlmodels = make_crowd(lab, MANY)
    now = timezone.now()
    keys = [one.pk for one in mlmodels]
    MLModel.objects.update(updated_at=now)
    MLModel.objects.filter(pk__in=keys[: MANY // 3]).update(visibility=Visibility.PRIVATE)
    concepts = Identifier.objects.filter(kind=IdentifierKind.CONCEPT, mlmodel__in=keys[::10])
    stored = dump(describe(Revision.objects.select_related("mlmodel__namespace").latest("pk")))
    concepts.update(withdrawn_at=now, description=stored, mlmodel=None)
    AuditEntry.objects.bulk_create(AuditEntry(action="a", subject="s") for _ in range(MANY))
    return mlmodels


def _last(mlmodels: list[MLModel]) -> HarvestCursor:
    """The position before the last hundred."""
    at = MLModel.objects.get(pk=mlmodels[-1].pk).updated_at
    return HarvestCursor(at, is_gone=False, pk=mlmodels[-100].pk)


def _part(mlmodels: list[MLModel], **selection: Any) -> Any:
    after = _last(mlmodels)
    return harvest_part(HarvestSelection(**selection), after=after, limit=50, is_whole=False)


READS: dict[str, Callable[[list[MLModel]], Any]] = {
    "first part": lambda _: harvest_part(HarvestSelection(), limit=50, is_whole=False),
    "last part": _part,
    "a set": lambda all_: _part(all_, kind=RepositoryKind.DATASET),
    "earliest record": lambda _: harvest_begin(),
    "recent records": lambda _: harvest_count(
        HarvestSelection(since=timezone.now() + timedelta(hours=1))
    ),
    "first page": lambda _: (listed(1, 50), listed_pages(1, 50)),
    "last page": lambda all_: (listed(all_[-1].pk // 50, 50), listed_pages(all_[-1].pk // 50, 50)),
    "feed of changes": lambda _: changes_part(limit=20),
    "feed of what is new": lambda _: changes_part(by_creation=True, limit=20),
    "feed of a namespace": lambda all_: changes_part(all_[0].namespace, limit=20),
    "state of the dump": lambda _: dump_state(),
}


def test_no_query_reads_more_than_it_sends(crowd: list[MLModel], subtests: pytest.Subtests) -> None:
    # One test, because the crowd takes seconds to write.
    for name, read in READS.items():
        with subtests.test(name):
            assert_reads_few(partial(read, crowd), most=500)


def test_the_parts_of_the_site_map_take_one_look_each(crowd: list[MLModel]) -> None:
    parts = {one.pk // SITE_MAP_PART for one in crowd[MANY // 3 :]}
    assert addresses_changed(SITE_MAP_PART).keys() == parts
    most = 10 * (crowd[-1].pk // SITE_MAP_PART + 1)
    assert_reads_few(lambda: addresses_changed(SITE_MAP_PART), most=most)
