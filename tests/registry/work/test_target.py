"""Kinds of hardware."""

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.work.target import target_get, targets, targets_served
from registry.services.work.target import target_enable, target_register
from registry.states import DeviceHealth
from registry.tables import AuditEntry, Device, User
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


def test_registering_again_brings_facts_up_to_date_and_leaves_the_switch() -> None:
    target, _ = shopfloor.make_machine()
    target_enable(actor=None, slug=target.slug, enabled=False)
    again = target_register(
        slug=target.slug, title="New", architecture="x86-64", features=["fma", "avx2"], rank=40
    )
    assert again == target
    assert (again.title, again.rank, again.features) == ("New", 40, ["avx2", "fma"])
    assert not target_get(target.slug).enabled
    assert AuditEntry.objects.filter(action="target.register").count() == 1


@pytest.mark.parametrize("slug", ["", "X86", "x86--64", "-x86", "x86_64", "x" * 65, "x86\n", "é"])
def test_an_odd_slug_is_refused(slug: str) -> None:
    with pytest.raises(Invalid) as caught:
        target_register(slug=slug, title="", architecture="x86-64", features=[], rank=0)
    assert caught.value.code == "invalid_target"


def test_only_operators_switch_a_target() -> None:
    target, _ = shopfloor.make_machine()
    operator = User.objects.create(username="op", is_staff=True)
    person = User.objects.create(username="alice")
    with pytest.raises(Unauthenticated):
        target_enable(actor=AnonymousUser(), slug=target.slug, enabled=False)
    with pytest.raises(Forbidden):
        target_enable(actor=person, slug=target.slug, enabled=False)
    assert target_get(target.slug).enabled
    assert not target_enable(actor=operator, slug=target.slug, enabled=False).enabled
    target_enable(actor=operator, slug=target.slug, enabled=False)
    assert AuditEntry.objects.get(action="target.disable").actor == operator


def test_an_unknown_target_is_not_found() -> None:
    with pytest.raises(NotFound):
        target_get("z80")


def test_work_is_planned_for_targets_that_are_on_and_have_a_device_online() -> None:
    served, _ = shopfloor.make_machine()
    shopfloor.make_machine(name="floor-2")
    silent, _ = shopfloor.make_machine("arm64-generic", name="phone")
    off, _ = shopfloor.make_machine("x86-64-avx2", name="laptop")
    Device.objects.filter(target=silent).update(health=DeviceHealth.SUSPECT)
    target_enable(actor=None, slug=off.slug, enabled=False)
    assert list(targets_served()) == [served]
    assert list(targets()) == [silent, off, served]
