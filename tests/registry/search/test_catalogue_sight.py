"""What a search tells to whom: facets, and private models."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.errors import NotFound
from registry.selectors.search.catalogue import catalogue_search
from registry.services.people.account import member_remove, member_set
from registry.services.people.token import token_issue
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.states import Role, Scope
from registry.tables import MLModel, Namespace, User
from tests.registry.search import rows
from tests.registry.search.rows import publish

pytestmark = pytest.mark.django_db


def found(query: str = "", actor: Any = None, **options: Any) -> list[str]:
    """Full names of the first page."""
    return rows.names(catalogue_search(actor, query=query, **options).items)


def test_each_is_counted_without_its_own_filter() -> None:
    publish("lab/a", license="mit", pipeline_tag="t1", tags=["x", "y"])
    publish("lab/b", license="mit", pipeline_tag="t2", tags=["x"])
    publish("lab/c", license="apache-2.0", pipeline_tag="t1", tags=["Y"])
    facets = catalogue_search(None, task="t1", license="mit").facets
    assert facets["task"] == [("t1", 1), ("t2", 1)]
    assert facets["license"] == [("apache-2.0", 1), ("mit", 1)]
    assert facets["tag"] == [("x", 1), ("y", 1)]
    assert facets["target"] == facets["architecture_class"] == []
    assert catalogue_search(None).facets["tag"] == [("x", 2), ("y", 2)]


def test_they_count_what_the_words_leave() -> None:
    rows.build(rows.graph(publish("lab/galaxy")), "x86-64-avx2")
    rows.graph(publish("lab/digits"))
    page = catalogue_search(None, query="galaxy")
    assert page.total == 1
    assert page.facets["target"] == [("x86-64-avx2", 1)]
    assert page.facets["architecture_class"] == [("plain-cnn", 1)]


def test_who_may_read_is_told_by_memberships_however_many_models_there_are(
    secret: MLModel, charlie: User
) -> None:
    found(actor=charlie)
    with CaptureQueriesContext(connection) as queries:
        assert found(actor=charlie) == ["lab/secret"]
    statements = [query["sql"] for query in queries]
    assert not [one for one in statements if "DISTINCT" in one or "GROUP BY" in one]
    (readers,) = [one for one in statements if one.startswith('SELECT "registry_membership"')]
    assert "registry_mlmodel" not in readers


def test_a_private_model_shows_to_members_only_in_nothing(
    galaxy: MLModel, secret: MLModel, alice: User, charlie: User
) -> None:
    for stranger in (AnonymousUser(), alice):
        page = catalogue_search(stranger)
        assert rows.names(page.items) == ["lab/galaxy-cnn"]
        assert page.total == 1
        assert page.facets["tag"] == [("astronomy", 1)]
        assert found("secret", stranger) == found("tag:hidden", stranger) == []
    for insider in (charlie, None):
        assert catalogue_search(insider).total == 2
        assert found("secret", insider) == ["lab/secret"]


def test_membership_counts_from_the_next_search_on(
    secret: MLModel, lab: Namespace, alice: User, charlie: User
) -> None:
    assert found(actor=alice) == []
    member_set(actor=charlie, namespace=lab, user=alice, role=Role.READ)
    assert found(actor=alice) == ["lab/secret"]
    member_remove(actor=charlie, namespace=lab, user=alice)
    assert found(actor=alice) == []


def test_visibility_counts_from_the_next_search_on(
    secret: MLModel, alice: User, charlie: User
) -> None:
    mlmodel_update(actor=charlie, mlmodel=secret, visibility="public")
    assert found(actor=alice) == ["lab/secret"]
    mlmodel_update(actor=charlie, mlmodel=secret, visibility="private")
    assert found(actor=alice) == []
    mlmodel_delete(actor=charlie, mlmodel=secret)
    assert found(actor=charlie) == []


def test_an_index_that_lags_behind_leaks_nothing(
    galaxy: MLModel, alice: User, charlie: User
) -> None:
    assert found(actor=alice) == ["lab/galaxy-cnn"]
    # Without an outbox entry: as if another process held the index when it was written.
    MLModel.objects.filter(pk=galaxy.pk).update(visibility="private")
    assert found(actor=alice) == []
    assert found(actor=charlie) == ["lab/galaxy-cnn"]


def test_a_token_for_another_namespace_does_not_see_it(secret: MLModel, charlie: User) -> None:
    own = Namespace.objects.get(name="charlie")
    charlie.token = token_issue(actor=charlie, name="t", scope=Scope.READ, namespace=own)[0]
    assert found(actor=charlie) == []


def test_likeness_to_an_invisible_model_is_not_told(
    secret: MLModel, galaxy: MLModel, alice: User
) -> None:
    rows.graph(secret)
    rows.graph(galaxy)
    with pytest.raises(NotFound) as refusal:
        found(actor=alice, similar_to="lab/secret")
    assert refusal.value.code == "model_not_found"
