"""The hub-wide report: which look counts for a record, and what is kept for strangers."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache

from registry.selectors.fair.report import hub_report
from registry.selectors.repository.revision import revision_get
from registry.services.fair import assessment as service
from registry.services.repository.mlmodel import mlmodel_update
from registry.tables import User
from tests.factories import commit_files, make_mlmodel, readme
from tests.registry.assessed import document


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """No figures of another test."""
    cache.clear()


def test_the_report_counts_the_newest_version_where_it_was_looked_at(alice: User) -> None:
    made = make_mlmodel("alice/a", files={"README.md": readme()})
    old = revision_get(made)
    new = commit_files(made, {"notes.txt": "newer"})
    service.assessment_add(old, document(1))
    assert [row.points for row in hub_report(alice).best] == [1]
    service.assessment_add(new, document(4))
    service.assessment_add(old, document(2))
    report = hub_report(alice)
    assert [(row.points, row.revision) for row in report.best] == [(4, new)]
    assert report.records == 1


def test_strangers_figures_are_kept_for_a_minute_and_hidden_names_at_once_not(
    alice: User, django_assert_num_queries: Any
) -> None:
    made = make_mlmodel("alice/a", files={"README.md": readme()})
    service.assessment_add(revision_get(made), document(1))
    assert len(hub_report(AnonymousUser()).best) == 1
    with django_assert_num_queries(1):
        assert hub_report(AnonymousUser()).records == 1
    mlmodel_update(actor=None, mlmodel=made, visibility="private")
    report = hub_report(AnonymousUser())
    assert (report.records, report.best, report.least) == (1, (), ())
