"""New models that stay private until their first files have passed their checks."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from hpcfair.tickets import JobTicket
from registry.errors import Conflict
from registry.selectors.access import readable_mlmodels
from registry.services.repository.hold import hold_pass
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_update
from registry.states import RepositoryKind, Visibility
from registry.tables import AuditEntry, MLModel, OutboxEntry, User
from tests.factories import commit_files, readme, tiny_onnx
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

FILES: dict[str, bytes | str | None] = {"README.md": readme(), "model.onnx": tiny_onnx()}


@pytest.fixture
def net(alice: User) -> MLModel:
    """A held model without files."""
    return mlmodel_create(actor=alice, namespace="alice", name="net", hold=True)


def is_public(mlmodel: MLModel) -> bool:
    mlmodel.refresh_from_db()
    seen = readable_mlmodels(AnonymousUser()).filter(pk=mlmodel.pk).exists()
    assert seen == (mlmodel.visibility == Visibility.PUBLIC)
    assert mlmodel.is_held != seen
    return seen


def passed(ticket: JobTicket) -> None:
    hold_pass(job_uuid=ticket.job_uuid, fence=ticket.fence)


def test_a_network_is_public_once_its_inspection_has_passed(net: MLModel, alice: User) -> None:
    assert not is_public(net)
    commit_files(net, FILES, actor=alice)
    assert not is_public(net)
    OutboxEntry.objects.all().delete()
    ticket = shopfloor.claim_inspect()
    passed(ticket)
    assert is_public(net)
    assert AuditEntry.objects.filter(action="mlmodel.release").count() == 1
    assert OutboxEntry.objects.get().mlmodel_uuid == net.uuid
    passed(ticket)
    assert AuditEntry.objects.filter(action="mlmodel.release").count() == 1


def test_an_inspection_of_an_earlier_version_does_not_release_the_newest(
    net: MLModel, alice: User
) -> None:
    commit_files(net, FILES, actor=alice)
    ticket = shopfloor.claim_inspect()
    commit_files(net, {"model.onnx": b"no network"}, actor=alice)
    passed(ticket)
    assert not is_public(net)


def test_a_lost_lease_releases_nothing(net: MLModel, alice: User) -> None:
    commit_files(net, FILES, actor=alice)
    ticket = shopfloor.claim_inspect()
    with pytest.raises(Conflict):
        hold_pass(job_uuid=ticket.job_uuid, fence=ticket.fence + 1)
    assert not is_public(net)


@pytest.mark.parametrize(
    ("files", "public"),
    [
        ({"README.md": readme()}, False),
        ({"README.md": readme(), "LICENSE": "MIT", ".gitignore": "x"}, False),
        ({"README.md": readme(), "model.safetensors": b"weights"}, True),
        ({"README.md": readme(), "model.safetensors": b"w", "model.onnx": tiny_onnx()}, False),
    ],
)
def test_files_without_a_network_need_no_inspection(
    net: MLModel,
    alice: User,
    files: dict[str, Any],
    public: bool,  # noqa: FBT001
) -> None:
    commit_files(net, files, actor=alice)
    assert is_public(net) == public


def test_an_owner_who_sets_the_visibility_has_the_last_word(net: MLModel, alice: User) -> None:
    mlmodel_update(actor=alice, mlmodel=net, visibility="private")
    net.refresh_from_db()
    assert (net.visibility, net.is_held) == (Visibility.PRIVATE, False)
    commit_files(net, FILES, actor=alice)
    passed(shopfloor.claim_inspect())
    net.refresh_from_db()
    assert net.visibility == Visibility.PRIVATE


@pytest.mark.parametrize(
    "columns",
    [
        {"hold": False},
        {"hold": True, "kind": RepositoryKind.DATASET},
        {"hold": True, "visibility": "private"},
    ],
)
def test_others_are_not_held(alice: User, columns: dict[str, Any]) -> None:
    mlmodel = mlmodel_create(actor=alice, namespace="alice", name="other", **columns)
    assert not mlmodel.is_held
    assert mlmodel.visibility == columns.get("visibility", "public")
