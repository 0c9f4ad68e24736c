"""Imports of profiles: what is stored, what is refused, who may, and what remains after a
deletion."""

import json
import threading
from typing import Any

import pytest

from registry.errors import Conflict, Forbidden, Invalid, NotFound, TooLarge, Unavailable
from registry.profilefiles.bounds import MOST_BYTES
from registry.selectors.analysis.importedprofile import (
    comparable_builds,
    imported_calls,
    imported_profile_get,
    imported_profiles_of,
    imported_totals,
    may_delete,
    own_profile,
)
from registry.selectors.results.nodetime import node_times
from registry.selectors.storage.blob import blobs_unreferenced
from registry.selectors.storage.quota import bytes_of
from registry.services.analysis import importedprofile
from registry.services.analysis.importedprofile import profile_delete
from registry.services.storage.quota import quota_set, usage_recount
from registry.states import Role
from registry.tables import AuditEntry, Blob, ImportedProfile, Membership, MLModel, Topology
from tests.factories import make_user, member
from tests.registry.analysis.imports import Bench, trace_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench() -> Bench:
    return Bench()


def kernel(name: str, us: Any, **args: Any) -> dict[str, Any]:
    return {"cat": "Node", "name": f"{name}_kernel_time", "ts": 1, "dur": us, "args": args}


def test_a_real_trace_covers_the_network(bench: Bench) -> None:
    row = bench.add(tool_version="1.31", environment="2 threads")
    calls = list(imported_calls(row))
    totals = imported_totals(row, calls)
    assert row.graph == bench.floor.graph
    assert (row.format, row.target, row.environment) == ("onnxruntime", "a laptop", "2 threads")
    assert totals.coverage.nodes == 12
    assert totals.coverage.exact + totals.coverage.inferred == 12
    assert totals.sum_ns == sum(call.median_ns for call in calls) <= row.total_ns
    assert row.fit["heavy_found"] == row.fit["heavy_nodes"] == 3
    assert [reason for reason, _, _ in totals.reasons] == ["changes layout or type between calls"]
    entry = AuditEntry.objects.get(action="profile.import")
    assert (entry.actor, entry.detail["profile"]) == (bench.alice, str(row.uuid))


def test_times_are_those_of_the_nodes(bench: Bench) -> None:
    """Groups of nodes have the sum of their calls, as for the hub's own profiles."""
    row = bench.add()
    times = node_times([row])
    assert (
        sum(each.times_ns[0] for each in times)
        == imported_totals(row, list(row.call_sites.all())).sum_ns
    )
    assert {node for each in times for node in each.nodes} == set(range(12))


def test_the_profile_of_another_network_is_refused_with_figures(bench: Bench) -> None:
    with pytest.raises(Invalid) as refusal:
        bench.add(trace_of("transformer"))
    assert refusal.value.code == "invalid_profile"
    assert "convolutions and products are matched" in refusal.value.detail
    assert not ImportedProfile.objects.exists()


@pytest.mark.parametrize(
    ("us", "words"),
    [(-7, "negative time"), (10**13, "an hour or more"), (0, "take no time")],
)
def test_impossible_times_are_refused_and_nothing_is_stored(
    bench: Bench, us: int, words: str
) -> None:
    data = json.dumps([kernel("stem", us, op_name="Conv")]).encode()
    with pytest.raises(Invalid, match=words):
        bench.add(data)
    assert not ImportedProfile.objects.exists()


def test_a_file_is_imported_once_for_a_machine(bench: Bench) -> None:
    bench.add()
    bench.add(target="a server")
    with pytest.raises(Conflict) as refusal:
        bench.add()
    assert refusal.value.code == "profile_exists"


def test_a_network_that_was_not_drawn_cannot_be_matched(bench: Bench) -> None:
    Topology.objects.all().delete()
    with pytest.raises(NotFound) as refusal:
        bench.add()
    assert refusal.value.code == "topology_not_found"


def test_files_of_others_cannot_be_named(bench: Bench) -> None:
    make_user("bob")
    sha256 = Blob.objects.get(pk=bench.add().blob_id).sha256
    other = Bench(name="bob/cnn")
    with pytest.raises(NotFound) as refusal:
        importedprofile.profile_import(
            actor=member("bob"), revision=other.revision, sha256=sha256, target="x"
        )
    assert refusal.value.code == "blob_not_found"


def test_only_writers_import_and_readers_of_private_models_read(bench: Bench) -> None:
    make_user("bob")
    with pytest.raises(Forbidden):
        bench.add(actor=member("bob"))
    row = bench.add()
    assert imported_profile_get(None, str(row.uuid)) == row
    MLModel.objects.update(visibility="private")
    assert imported_profile_get(bench.alice, str(row.uuid)) == row
    with pytest.raises(NotFound):
        imported_profile_get(member("bob"), str(row.uuid))
    assert not imported_profiles_of(member("bob"), bench.revision.mlmodel).exists()


def test_its_importer_or_an_admin_deletes_it(bench: Bench) -> None:
    make_user("bob")
    make_user("charlie")
    namespace = bench.revision.mlmodel.namespace
    for name in ("bob", "charlie"):
        Membership.objects.create(namespace=namespace, user=member(name), role=Role.WRITE)
    row = bench.add(actor=member("bob"))
    assert not may_delete(member("charlie"), row)
    with pytest.raises(Forbidden):
        profile_delete(actor=member("charlie"), profile=row)
    assert may_delete(bench.alice, row)
    profile_delete(actor=member("bob"), profile=row)
    assert not ImportedProfile.objects.exists()
    assert AuditEntry.objects.filter(action="profile.delete", actor=member("bob")).exists()


def test_its_file_counts_and_is_kept_until_it_is_deleted(bench: Bench) -> None:
    mlmodel = MLModel.objects.get(pk=bench.revision.mlmodel_id)
    usage_recount(mlmodel)
    before = bytes_of(mlmodel)
    row = bench.add()
    size_bytes = row.blob.size_bytes
    assert bytes_of(mlmodel) == before + size_bytes
    assert MLModel.objects.get(pk=mlmodel.pk).used_bytes == before + size_bytes
    assert not blobs_unreferenced().filter(pk=row.blob_id).exists()
    bench.add(target="another")
    assert MLModel.objects.get(pk=mlmodel.pk).used_bytes == before + size_bytes
    for each in ImportedProfile.objects.all():
        profile_delete(actor=bench.alice, profile=each)
    assert MLModel.objects.get(pk=mlmodel.pk).used_bytes == before
    assert not Blob.objects.filter(pk=row.blob_id, condemned_at=None).exists()


def test_the_quota_holds(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = bench.revision.mlmodel.namespace
    quota_set(actor=None, namespace=namespace, quota_bytes=10)
    with pytest.raises(Forbidden) as refusal:
        bench.add()
    assert refusal.value.code == "quota_exceeded"
    quota_set(actor=None, namespace=namespace, quota_bytes=None)
    monkeypatch.setattr(importedprofile, "MOST_PROFILES", 0)
    with pytest.raises(Forbidden, match="may have 0 imported profiles"):
        bench.add()


def test_large_files_are_refused_before_they_are_read(bench: Bench) -> None:
    with pytest.raises(TooLarge):
        bench.add(b" " * (MOST_BYTES + 1))


def test_files_are_read_one_at_a_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importedprofile, "_PATIENCE_S", 0.0)
    reading: threading.Lock = importedprofile._READING
    with reading, pytest.raises(Unavailable):
        bench.add()
    assert bench.add()


def test_there_is_nothing_to_compare_with_before_the_hub_has_profiled(bench: Bench) -> None:
    row = bench.add()
    assert comparable_builds(row) == []
    with pytest.raises(NotFound, match="no profiled build"):
        own_profile(row, "no such build")
