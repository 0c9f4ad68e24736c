"""Chunks of files that did not arrive by Xet, while repositories come and go."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.utils import timezone

from registry.selectors.storage.equal_range import equal_ranges
from registry.selectors.storage.reconstruction import chunks_of, reconstruction, xet_hashes
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_delete
from registry.services.repository.revision import squash
from registry.services.storage.chunking import blobs_chunk
from registry.services.storage.fsck import fsck
from registry.services.storage.gc import gc
from registry.tables import Blob, File, MLModel, User, XetFile, Xorb, XorbChunk, XorbRun
from tests.factories import commit_files, make_mlmodel

pytestmark = pytest.mark.django_db

_NOISE = np.random.default_rng(5).bytes(1_500_000)
_VERSIONS = (_NOISE, _NOISE[:700_000] + b"inserted" + _NOISE[700_000:])


@pytest.fixture
def ours(alice: User, data_dir: Path) -> MLModel:
    """A repository with two versions of a large file, whose chunks are found."""
    mlmodel = make_mlmodel("alice/m", actor=alice)
    for content in _VERSIONS:
        commit_files(mlmodel, {"w.bin": content}, actor=alice)
        assert blobs_chunk() == 1
    return mlmodel


def _blobs(mlmodel: MLModel) -> list[Blob]:
    """The versions that are left, oldest first."""
    rows = File.objects.filter(series__mlmodel=mlmodel, path="w.bin").select_related("blob")
    return list(dict.fromkeys(file.blob for file in rows.order_by("pk")))


def _collect() -> None:
    Xorb.objects.update(used_at=timezone.now() - timedelta(days=30))
    # Blobs are condemned first, and deleted by the next run.
    for _ in range(2):
        gc(grace=timedelta(0))
    assert list(fsck()) == []


def _check(mlmodel: MLModel, count: int) -> None:
    blobs = _blobs(mlmodel)
    assert len(blobs) == count
    assert set(xet_hashes([blob.sha256 for blob in blobs])) == {blob.sha256 for blob in blobs}
    for blob in blobs:
        plan = reconstruction(blob, 0, blob.size_bytes)
        assert sum(term.raw_bytes for term in plan.terms) == blob.size_bytes
        assert sum(length for _, length in chunks_of(blob)) == blob.size_bytes


def test_collection_leaves_the_chunks_of_files(ours: MLModel) -> None:
    _collect()
    _check(ours, 2)
    first, second = _blobs(ours)
    equal = equal_ranges(second, first)
    assert sum(span.size_bytes for span in equal) > 1_200_000
    for span in equal:
        end, earlier_end = span.offset + span.size_bytes, span.earlier_offset + span.size_bytes
        assert _VERSIONS[1][span.offset : end] == _VERSIONS[0][span.earlier_offset : earlier_end]
    assert blobs_chunk() == 0


def test_a_fork_keeps_the_chunks_of_what_it_shares(ours: MLModel, alice: User) -> None:
    copy = fork(actor=alice, source=ours, namespace="alice", name="copy")
    mlmodel_delete(actor=alice, mlmodel=ours)
    _collect()
    _check(copy, 2)


def test_a_later_version_outlives_the_one_whose_chunks_it_shares(
    ours: MLModel, alice: User
) -> None:
    first, second = _blobs(ours)
    squash(actor=alice, mlmodel=ours, branch="main", message="Squash")
    File.objects.filter(blob=first).delete()
    _collect()
    assert not Blob.objects.filter(pk=first.pk).exists()
    assert not XetFile.objects.filter(blob=first).exists()
    assert _blobs(ours) == [second]
    _check(ours, 1)


def test_nothing_is_left_of_a_deleted_repository(ours: MLModel, alice: User) -> None:
    mlmodel_delete(actor=alice, mlmodel=ours)
    _collect()
    for table in (XetFile, XorbRun, XorbChunk, Xorb):
        assert not table.objects.exists(), table
