"""Targets of the machines that people load models on."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from registry.selectors.access import Actor
from registry.selectors.people.usertarget import usertargets_of
from registry.selectors.work.target import target_of_machine
from registry.services.people.usertarget import usertarget_note
from registry.tables import User, UserTarget
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


def note(actor: Actor, *features: str, architecture: str = "x86-64") -> None:
    usertarget_note(actor=actor, architecture=architecture, features=features)


@pytest.fixture(autouse=True)
def targets(db: None) -> None:
    shopfloor.make_machine("x86-64-v3", name="old", rank=10, features=("avx2",))
    shopfloor.make_machine("x86-64-avx512", name="new", rank=30, features=("avx2", "avx512f"))


@pytest.mark.parametrize(
    ("features", "slug"),
    [(("avx2", "avx512f", "sse4"), "x86-64-avx512"), (("avx2",), "x86-64-v3"), ((), None)],
)
def test_a_machine_belongs_to_the_target_of_the_highest_rank_that_it_fits(
    features: Sequence[str], slug: str | None
) -> None:
    target = target_of_machine("x86-64", features)
    assert (target.slug if target else None) == slug
    assert target_of_machine("arm64", features) is None


def test_the_newest_load_comes_first(alice: User, bob: User) -> None:
    note(alice, "avx2")
    note(alice, "avx2", "avx512f")
    assert usertargets_of(alice) == ["x86-64-avx512", "x86-64-v3"]
    assert usertargets_of(bob) == usertargets_of(AnonymousUser()) == []


def test_nothing_is_noted_of_strangers_and_unknown_machines(alice: User) -> None:
    note(AnonymousUser(), "avx2")
    note(None, "avx2")
    note(alice, "avx2", architecture="riscv")
    assert not UserTarget.objects.exists()


def test_a_day_of_loads_is_written_once(
    alice: User, django_assert_num_queries: pytest.FixtureRequest
) -> None:
    note(alice, "avx2")
    with django_assert_num_queries(2):  # type: ignore[operator]
        note(alice, "avx2")
    UserTarget.objects.update(used_at=timezone.now() - timedelta(days=2))
    note(alice, "avx2")
    assert UserTarget.objects.get().used_at > timezone.now() - timedelta(minutes=5)
