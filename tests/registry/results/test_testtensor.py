"""Test tensors: kept once for a network, found again by set, side and place."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry.errors import Conflict, Invalid, NotFound
from registry.selectors.results import testtensor as reads
from registry.selectors.results.testtensor import tensor_get
from registry.selectors.storage.blob import blobs_unreferenced
from registry.services.results import testtensor as writes
from registry.tables import AuditEntry, Blob, Graph, TestTensor
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


def tensor(
    side: str = "input", index: int = 0, *, number: int = 0, **columns: Any
) -> dict[str, Any]:
    """As ``tests_store`` takes it, with a stored blob of its own."""
    blob = shopfloor.make_blob(f"{number} {side} {index}".encode())
    row = {"number": number, "side": side, "index": index, "name": f"{side} {index}"}
    return {**row, "sha256": blob.sha256, "is_made": True} | columns


def one_set(number: int = 0) -> list[dict[str, Any]]:
    return [tensor("output", number=number), tensor(index=1, number=number), tensor(number=number)]


@pytest.fixture
def floor() -> shopfloor.Floor:
    made = shopfloor.floor()
    made.tune()
    return made


@pytest.fixture
def held(floor: shopfloor.Floor) -> dict[str, Any]:
    ticket = floor.claim()
    return {"job_uuid": ticket.job_uuid, "fence": ticket.fence}


def test_sets_are_kept_and_told_inputs_first(floor: shopfloor.Floor, held: dict[str, Any]) -> None:
    kept = writes.tests_store(**held, tensors=one_set(1) + one_set())
    assert [(t.number, t.side, t.index) for t in kept] == [
        (number, side, index)
        for number in (0, 1)
        for side, index in (("input", 0), ("input", 1), ("output", 0))
    ]
    assert kept[0].file.path == "test_data_set_0/input_0.pb"
    assert reads.tests_of_job(held["job_uuid"]) == kept
    found = reads.test_sets(floor.revision)
    assert {number: len(rows) for number, rows in found.items()} == {0: 3, 1: 3}
    assert AuditEntry.objects.filter(action="test.store").count() == 1


def test_a_networks_tests_stay_what_they_are(floor: shopfloor.Floor, held: dict[str, Any]) -> None:
    first = writes.tests_store(**held, tensors=one_set())
    assert writes.tests_store(**held, tensors=one_set(7)) == first
    assert TestTensor.objects.count() == 3


def test_their_bytes_are_needed_as_long_as_they_are(
    floor: shopfloor.Floor, held: dict[str, Any]
) -> None:
    kept = writes.tests_store(**held, tensors=one_set())
    digests = {one.file.sha256 for one in kept}
    assert not blobs_unreferenced().filter(pk__in=digests).exists()
    Graph.objects.all().delete()
    assert blobs_unreferenced().filter(pk__in=digests).count() == 3


def test_who_lost_the_lease_keeps_nothing(held: dict[str, Any]) -> None:
    with pytest.raises(Conflict, match="no longer holds"):
        writes.tests_store(**held | {"fence": held["fence"] + 1}, tensors=one_set())
    assert not TestTensor.objects.exists()


def test_bytes_that_went_are_told(held: dict[str, Any]) -> None:
    tensors = one_set()
    Blob.objects.filter(pk=tensors[0]["sha256"]).update(
        condemned_at=timezone.now() - timedelta(days=1)
    )
    with pytest.raises(Invalid) as refusal:
        writes.tests_store(**held, tensors=tensors)
    assert refusal.value.code == "blob_missing"
    assert not TestTensor.objects.exists()


def test_a_network_that_nobody_read_has_none(floor: shopfloor.Floor, held: dict[str, Any]) -> None:
    floor.graph.delete()
    with pytest.raises(NotFound):
        writes.tests_store(**held, tensors=one_set())
    assert reads.tests_of_job(held["job_uuid"]) == ()
    assert reads.test_sets(floor.revision) == {}


@pytest.mark.parametrize(
    "tensors",
    [
        [],
        [{"number": 0}],
        "missing-output",
        "gap",
        "twice",
        "side",
        "negative",
        "truth",
        "digest",
        "name",
    ],
)
def test_what_is_no_set_is_refused(held: dict[str, Any], tensors: Any) -> None:
    given = {
        "missing-output": lambda: [tensor()],
        "gap": lambda: [tensor("output"), tensor("input", 1)],
        "twice": lambda: [tensor("output"), tensor("output")],
        "side": lambda: [tensor("sideways")],
        "negative": lambda: [tensor("output", number=-1)],
        "truth": lambda: [tensor("output", is_made=1)],
        "digest": lambda: [tensor("output", sha256="abc")],
        "name": lambda: [tensor("output", name="")],
    }
    with pytest.raises(Invalid) as refusal:
        writes.tests_store(
            **held, tensors=given[tensors]() if isinstance(tensors, str) else tensors
        )
    assert refusal.value.code == "invalid_request"
    assert refusal.value.fields


def test_a_tensor_is_found_by_its_path(floor: shopfloor.Floor, held: dict[str, Any]) -> None:
    writes.tests_store(**held, tensors=one_set())
    row = tensor_get(floor.revision, "test_data_set_0/input_1.pb")
    assert (row.name, reads.test_path(row)) == ("input 1", "test_data_set_0/input_1.pb")
    for path in ("test_data_set_0/input_2.pb", "model.onnx", "\0"):
        with pytest.raises(NotFound) as refusal:
            tensor_get(floor.revision, path)
        assert refusal.value.code == "file_not_found"
