"""Targets registered by operators: by their definition, and from a file."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Conflict, Forbidden, Invalid, Unauthenticated
from registry.selectors.work.target import target_get
from registry.services.work.target import target_register, target_save, targets_import
from registry.tables import AuditEntry, Target, User
from tests.registry import shopfloor
from tests.registry.work.fleet import enrol

pytestmark = pytest.mark.django_db

SVE = {
    "title": "ARM64 with SVE",
    "architecture": "arm64",
    "features": ["sve", "asimd", "sve"],
    "rank": 15,
    "memory_bytes": 2**33,
    "cores": 4,
}


def test_an_operator_registers_a_target_and_changes_it() -> None:
    operator = User.objects.create(username="op", is_staff=True)
    target = target_save(actor=operator, slug="arm64-sve", definition=SVE)
    assert (target.features, target.memory_bytes, target.cores) == (["asimd", "sve"], 2**33, 4)
    assert target.enabled
    assert not target.is_emulated
    changed = SVE | {"title": "Larger", "cores": 8}
    assert target_save(actor=operator, slug="arm64-sve", definition=changed).cores == 8
    target_save(actor=operator, slug="arm64-sve", definition=changed)
    actions = AuditEntry.objects.order_by("id").values_list("action", "actor")
    assert list(actions) == [("target.register", operator.pk), ("target.change", operator.pk)]


def test_only_operators_register_targets() -> None:
    with pytest.raises(Unauthenticated):
        target_save(actor=AnonymousUser(), slug="arm64-sve", definition=SVE)
    with pytest.raises(Forbidden):
        targets_import(actor=User.objects.create(username="alice"), document={"targets": []})


def test_a_target_with_the_feature_emulated_is_emulated() -> None:
    features = ["asimd", "emulated"]
    definition = {"architecture": "arm64", "features": features}
    assert target_save(actor=None, slug="slow", definition=definition).is_emulated


def test_the_instructions_of_a_target_in_use_stay() -> None:
    target, _ = shopfloor.make_machine(features=("avx2",))
    same = {"architecture": "x86-64", "features": ["avx2"], "title": "Other"}
    assert target_save(actor=None, slug=target.slug, definition=same).title == "Other"
    for change in ({"features": ["fma"]}, {"architecture": "arm64"}):
        with pytest.raises(Conflict) as caught:
            target_save(actor=None, slug=target.slug, definition=same | change)
        assert caught.value.code == "target_in_use"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"architecture": ""}, "architecture"),
        ({"architecture": "x" * 33}, "architecture"),
        ({"features": "sve"}, "features"),
        ({"features": ["S V E"]}, "features"),
        ({"rank": 1.5}, "rank"),
        ({"rank": True}, "rank"),
        ({"memory_bytes": -1}, "memory_bytes"),
        ({"cores": 10**6}, "cores"),
        ({"title": "two\nlines"}, "title"),
        ({"enabled": True}, "enabled"),
    ],
)
def test_a_bad_definition_is_refused(change: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        target_save(actor=None, slug="arm64-sve", definition=SVE | change)
    assert caught.value.code == "invalid_target"
    assert list(caught.value.fields) == [field]
    assert not Target.objects.exists()


def test_a_file_registers_all_its_targets_or_none() -> None:
    rows = [{"slug": f"arm64-{number}", "architecture": "arm64"} for number in range(3)]
    document = {"machine": {"cores": 2}, "targets": rows}
    assert [row.slug for row in targets_import(actor=None, document=document)] == [
        "arm64-0",
        "arm64-1",
        "arm64-2",
    ]
    with pytest.raises(Invalid):
        targets_import(actor=None, document={"targets": [rows[0] | {"rank": 7}, {"slug": "bad"}]})
    assert target_get("arm64-0").rank == 0


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"targets": []}, {"targets": {}}, {"targets": [1]}, {"targets": [{}]}],
)
def test_another_document_is_refused(document: object) -> None:
    with pytest.raises(Invalid) as caught:
        targets_import(actor=None, document=document)
    assert caught.value.code == "invalid_target"


def test_the_target_of_a_machine_that_joins_keeps_its_title() -> None:
    shopfloor.make_machine("x86-64-avx2", name="worker")
    target_register(
        slug="x86-64-avx2", title="Mine", architecture="x86-64", features=["avx2"], rank=10
    )
    device, _ = enrol()
    assert device.target.title == "Mine"
