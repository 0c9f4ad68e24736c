"""Garbage collection frees what nobody needs, and nothing else."""

import hashlib
import io
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from registry.errors import Invalid
from registry.selectors.storage.blob import blob_missing
from registry.services.repository import publication
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.repository.revision import Add, commit
from registry.services.storage import gc as collector
from registry.services.storage.blob import blob_store, blob_used
from registry.services.storage.gc import Freed, gc
from registry.services.storage.parts import part_store, parts_begin
from registry.services.storage.prune import news_prune
from registry.states import RefKind
from registry.storage import blob_store as bytes_store
from registry.storage.base import Arrived
from registry.storage.filesystem import FolderStore
from registry.tables import Blob, MLModel, OutboxEntry, Ref, Revision, User
from tests.factories import commit_files, make_mlmodel, store

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
NONE = timedelta(0)


def age(sha256: str, days: float) -> None:
    """As if nobody had used the blob for so long."""
    since = timezone.now() - days * DAY
    rows = Blob.objects.filter(pk=sha256)
    rows.update(used_at=since)
    rows.exclude(condemned_at=None).update(condemned_at=since)


def is_stored(sha256: str) -> bool:
    return bytes_store().exists(sha256)


def condemn(blob: Blob) -> None:
    age(blob.sha256, 2)
    assert collect().condemned == 1


def collect(**options: Any) -> Freed:
    return gc(**{"grace": DAY} | options)


def test_what_nobody_used_is_condemned_first_and_deleted_later(data_dir: Path, alice: User) -> None:
    blob = store(b"never committed", alice)
    assert collect() == Freed()
    age(blob.sha256, 2)
    assert collect(dry_run=True).condemned == 1
    assert collect().condemned == 1
    assert is_stored(blob.sha256)
    assert blob_missing(alice, [blob.sha256]) == [blob.sha256], "condemned counts as absent"
    assert collect().blobs == 0, "condemned only a moment ago"
    age(blob.sha256, 2)
    assert collect(dry_run=True).blobs == 1
    assert is_stored(blob.sha256)
    freed = collect()
    assert (freed.blobs, freed.blob_bytes) == (1, len(b"never committed"))
    assert not is_stored(blob.sha256)
    assert not Blob.objects.filter(pk=blob.sha256).exists()


def test_what_a_revision_holds_stays(data_dir: Path, alice: User) -> None:
    mlmodel = make_mlmodel("alice/net", files={"a": b"kept"})
    commit_files(mlmodel, {"a": None})
    Blob.objects.update(used_at=timezone.now() - 100 * DAY)
    assert collect(grace=NONE) == Freed()
    assert all(is_stored(blob.sha256) for blob in Blob.objects.all())


def test_being_told_that_bytes_are_here_spares_them(data_dir: Path, alice: User) -> None:
    blob = store(b"uploaded last week", alice)
    age(blob.sha256, 7)
    assert set(blob_used(actor=alice, sha256s=[blob.sha256, "0" * 64])) == {blob.sha256}
    assert collect() == Freed()


def test_uploading_again_frees_of_condemnation(data_dir: Path, alice: User) -> None:
    blob = store(b"wanted after all", alice)
    condemn(blob)
    bytes_store().delete(blob.sha256)
    assert blob_used(actor=alice, sha256s=[blob.sha256]) == {}
    again = store(b"wanted after all", alice)
    assert again.condemned_at is None
    assert is_stored(again.sha256)
    assert blob_missing(alice, [again.sha256]) == []


@pytest.mark.parametrize("is_condemned", [True, False])
def test_a_collection_between_an_uploads_two_steps_takes_nothing_from_it(
    data_dir: Path, alice: User, monkeypatch: pytest.MonkeyPatch, *, is_condemned: bool
) -> None:
    data = b"taken while it came again"
    if is_condemned:
        condemn(store(data, alice))
    here, kept = bytes_store(), []

    def keep(arrived: Arrived) -> None:
        FolderStore.keep(here, arrived)  # type: ignore[arg-type]
        kept.append(arrived.sha256)
        if len(kept) == 1:
            # With the bytes in place and the row not yet held.
            freed = collect(grace=NONE)
            assert freed.blobs + freed.strays == 1
            assert not is_stored(arrived.sha256)

    monkeypatch.setattr(here, "keep", keep)
    blob = store(data, alice)
    assert len(kept) == 2
    assert is_stored(blob.sha256)
    assert blob_missing(alice, [blob.sha256]) == []


def test_a_collection_just_before_a_commit_is_written_makes_it_ask_again(
    data_dir: Path, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlmodel = make_mlmodel("alice/net", actor=alice)
    blob = store(b"committed at last", alice)
    require_head = publication.require_head

    def late(head: Ref) -> None:
        assert collect(grace=NONE).blobs == 1
        require_head(head)

    monkeypatch.setattr(publication, "require_head", late)
    with pytest.raises(Invalid) as caught:
        commit(
            actor=alice,
            mlmodel=mlmodel,
            message="Late",
            operations=[Add("a", blob.sha256)],
            is_checked=False,
        )
    assert caught.value.code == "blob_missing"
    assert mlmodel.revisions.count() == 1


def test_a_commit_of_condemned_bytes_asks_for_them_anew(data_dir: Path, alice: User) -> None:
    mlmodel = make_mlmodel("alice/net", actor=alice)
    blob = store(b"forgotten", alice)
    condemn(blob)
    with pytest.raises(Invalid) as caught:
        commit(
            actor=alice,
            mlmodel=mlmodel,
            message="Late",
            operations=[Add("a", blob.sha256)],
            is_checked=False,
        )
    assert caught.value.code == "blob_missing"


def test_condemned_yet_needed_is_needed(data_dir: Path, alice: User) -> None:
    make_mlmodel("alice/net", files={"a": b"kept"})
    sha256 = hashlib.sha256(b"kept").hexdigest()
    Blob.objects.filter(pk=sha256).update(condemned_at=timezone.now() - 2 * DAY)
    assert collect().blobs == 0
    assert is_stored(sha256)
    assert Blob.objects.get(pk=sha256).condemned_at is None


def test_bytes_without_a_row_and_uploads_left_behind_go(data_dir: Path, alice: User) -> None:
    here = bytes_store()
    with here.receive(io.BytesIO(b"nobody's")) as arrived:
        here.keep(arrived)
    upload = parts_begin(actor=alice, size_bytes=10)
    part_store(upload=upload, number=1, stream=io.BytesIO(b"0123456789"))
    assert collect() == Freed(), "both may belong to somebody who is at it"
    freed = collect(grace=NONE, dry_run=True)
    assert (freed.strays, freed.stray_bytes, freed.leftovers) == (1, 8, 0)
    assert collect(grace=NONE).strays == 1
    assert not here.exists(arrived.sha256)
    assert not Blob.objects.exists()


def test_an_upload_left_behind_goes_after_a_while(
    data_dir: Path, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts_begin(actor=alice, size_bytes=10)
    assert collect(grace=NONE).leftovers == 0
    monkeypatch.setattr(collector, "_LEAST_PATIENCE", NONE)
    assert collect(grace=NONE).leftovers == 1
    assert not list(bytes_store().leftovers())


def test_revisions_that_nothing_leads_to_go_with_their_bytes(data_dir: Path, alice: User) -> None:
    mlmodel = make_mlmodel("alice/net", files={"a": b"on main"})
    main = mlmodel.refs.get().revision
    ref_create(actor=None, mlmodel=mlmodel, kind=RefKind.BRANCH, name="idea", revision=main)
    commit_files(mlmodel, {"b": b"an idea"}, branch="idea")
    lost = commit_files(mlmodel, {"c": b"and more"}, branch="idea")
    before = MLModel.objects.get(pk=mlmodel.pk).used_bytes
    assert collect(grace=NONE).revisions == 0
    ref_delete(actor=None, mlmodel=mlmodel, kind=RefKind.BRANCH, name="idea")
    assert collect().revisions == 0, "made only a moment ago"
    assert collect(grace=NONE, dry_run=True).revisions == 2
    freed = collect(grace=NONE)
    assert (freed.revisions, freed.condemned, freed.blobs) == (2, 2, 2)
    assert not Revision.objects.filter(pk=lost.pk).exists()
    after = MLModel.objects.get(pk=mlmodel.pk).used_bytes
    assert before - after == len(b"an idea") + len(b"and more")
    assert mlmodel.revisions.count() == 2


def test_the_newest_news_stay(data_dir: Path) -> None:
    uuid = "12345678-1234-5678-1234-567812345678"
    OutboxEntry.objects.bulk_create(OutboxEntry(mlmodel_uuid=uuid) for _ in range(10_050))
    assert news_prune(dry_run=False) == 0
    OutboxEntry.objects.update(at=timezone.now() - 31 * DAY)
    assert news_prune(dry_run=True) == 50
    assert news_prune(dry_run=False) == 50
    assert OutboxEntry.objects.count() == 10_000


@pytest.mark.django_db(transaction=True)
def test_no_upload_loses_its_bytes_to_a_collection_at_the_same_time(data_dir: Path) -> None:
    done, failures = threading.Event(), []

    def collect_on() -> None:
        try:
            while not done.is_set():
                gc(grace=NONE)
        except Exception as failure:  # noqa: BLE001 (told to the test's own thread)
            failures.append(failure)
        finally:
            connection.close()

    def upload(number: int) -> None:
        try:
            for turn in range(40):
                data = f"shared {(turn + number) % 3}".encode() * 1000
                blob = blob_store(actor=None, stream=io.BytesIO(data))
                row = Blob.objects.filter(pk=blob.sha256).first()
                # Gone again, condemned, or whole: never a row that promises what is not there.
                if row is not None and row.condemned_at is None and not is_stored(blob.sha256):
                    row = Blob.objects.filter(pk=blob.sha256, condemned_at=None).first()
                    assert row is None
        except Exception as failure:  # noqa: BLE001 (told to the test's own thread)
            failures.append(failure)
        finally:
            connection.close()

    collecting = threading.Thread(target=collect_on)
    uploading = [threading.Thread(target=upload, args=(number,)) for number in range(3)]
    for thread in (collecting, *uploading):
        thread.start()
    for thread in uploading:
        thread.join()
    done.set()
    collecting.join()
    assert not failures
    for blob in Blob.objects.filter(condemned_at=None):
        assert is_stored(blob.sha256)
