"""Every fault put into a hub is found, and none is made up."""

import io
import os
import random
import secrets
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, models
from django.utils import timezone

from registry.services.repository.ref import ref_create
from registry.services.storage.fsck import IntegrityFault, fsck
from registry.services.storage.gc import gc, recount
from registry.states import RefKind
from registry.storage import blob_store
from registry.tables import Blob, File, MLModel, Ref, Revision, User
from tests.factories import commit_files, make_mlmodel, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def hub(data_dir: Path, alice: User) -> list[MLModel]:
    """Repositories with history, large and small files, branches and tags."""
    return make_hub(repositories=2, turns=3)


def make_hub(*, repositories: int, turns: int) -> list[MLModel]:
    made = []
    for number in range(repositories):
        mlmodel = make_mlmodel(f"alice/net-{number}")
        for turn in range(turns):
            files = {
                "README.md": f"# {number} {turn}\n",
                f"data/{turn}.bin": secrets.token_bytes(500 + number),
                "model.onnx": secrets.token_bytes(2000 + turn),
                "folder/shared.txt": b"the same everywhere",
            }
            last = commit_files(mlmodel, files, message=f"Turn {turn}")
        ref_create(actor=None, mlmodel=mlmodel, kind=RefKind.TAG, name="v1", revision=last)
        made.append(mlmodel)
    return made


@contextmanager
def without_constraints() -> Any:
    """What a foreign key forbids, for one that a damaged database no longer keeps."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
        else:
            cursor.execute("PRAGMA defer_foreign_keys = ON")
        yield
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = origin")


class Saboteur:
    """Puts faults in; each method answers with the kind and the subject that must be found."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 (it only picks victims)
        self.touched: set[Any] = set()

    def pick(self, rows: "models.QuerySet[Any]") -> Any:
        """A row nobody tampered with yet: one fault must not hide another."""
        row = self.chance.choice([row for row in rows if (type(row), row.pk) not in self.touched])
        self.touched.add((type(row), row.pk))
        return row

    def blob(self) -> Blob:
        return self.pick(Blob.objects.filter(size_bytes__gt=400).order_by("pk"))

    def lonely_file(self) -> File:
        taken = [pk for table, pk in self.touched if table is Revision]
        # Each revision has changed this file: no two of them share its row.
        rows = File.objects.filter(path="README.md").exclude(changed_in__in=taken)
        file = self.pick(rows.order_by("pk"))
        self.touched.add((Revision, file.changed_in_id))
        return file

    def path_of(self, blob: Blob) -> Path:
        path = blob_store().path(blob.pk)
        assert path is not None
        path.chmod(0o644)
        return path

    def bytes_missing(self) -> str:
        blob = self.blob()
        self.path_of(blob).unlink()
        return blob.pk

    def bytes_flipped(self) -> str:
        blob = self.blob()
        data = bytearray(self.path_of(blob).read_bytes())
        data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
        self.path_of(blob).write_bytes(data)
        return blob.pk

    def bytes_cut(self) -> str:
        blob = self.blob()
        os.truncate(self.path_of(blob), self.chance.randrange(blob.size_bytes))
        return blob.pk

    def bytes_grown(self) -> str:
        blob = self.blob()
        with self.path_of(blob).open("ab") as file:
            file.write(b"\0")
        return blob.pk

    def size_wrong(self) -> str:
        blob = self.blob()
        Blob.objects.filter(pk=blob.pk).update(size_bytes=blob.size_bytes + 1)
        return blob.pk

    def git_oid_wrong(self) -> str:
        blob = self.blob()
        Blob.objects.filter(pk=blob.pk).update(git_oid=secrets.token_hex(20))
        return blob.pk

    def condemned(self) -> str:
        blob = self.blob()
        Blob.objects.filter(pk=blob.pk).update(condemned_at=timezone.now())
        return blob.pk

    def file_oid(self) -> str:
        file = self.lonely_file()
        File.objects.filter(pk=file.pk).update(oid=secrets.token_hex(20))
        return f"file {file.pk} "

    def file_is_lfs(self) -> str:
        file = self.lonely_file()
        File.objects.filter(pk=file.pk).update(is_lfs=not file.is_lfs)
        return f"file {file.pk} "

    def file_blob(self) -> str:
        file = self.lonely_file()
        with without_constraints():
            File.objects.filter(pk=file.pk).update(blob_id=secrets.token_hex(32))
        return f"file {file.pk} "

    def revision(self) -> Revision:
        return self.pick(Revision.objects.order_by("pk"))

    def tree_oid(self) -> str:
        revision = self.revision()
        Revision.objects.filter(pk=revision.pk).update(tree_oid=secrets.token_hex(20))
        return revision.oid

    def message(self) -> str:
        revision = self.revision()
        Revision.objects.filter(pk=revision.pk).update(message=revision.message + "!")
        return revision.oid

    def file_gone(self) -> str:
        revision = self.revision()
        # Of the others, later revisions have the same rows.
        revision.files.filter(changed_in=revision).order_by("?")[0].delete()
        return revision.oid

    def ref(self) -> str:
        ref = self.pick(Ref.objects.filter(kind=RefKind.TAG).order_by("pk"))
        with without_constraints():
            Ref.objects.filter(pk=ref.pk).update(revision_id=10**9 + ref.pk)
        return f"{ref.mlmodel.full_name}#tag/"

    def branch(self) -> str:
        ref = self.pick(Ref.objects.filter(kind=RefKind.BRANCH).order_by("pk"))
        ref.delete()
        return ref.mlmodel.full_name

    def usage(self) -> str:
        mlmodel = self.pick(MLModel.objects.order_by("pk"))
        MLModel.objects.filter(pk=mlmodel.pk).update(used_bytes=mlmodel.used_bytes - 1)
        return mlmodel.full_name

    def stray(self) -> str:
        with blob_store().receive(io.BytesIO(secrets.token_bytes(99))) as arrived:
            blob_store().keep(arrived)
        return arrived.sha256

    def leftover(self) -> str:
        return blob_store().parts_begin(10).key


#: Fault to the kind it must be found as, and how often it may be put into the hub above.
KINDS: dict[Callable[[Saboteur], str], tuple[str, int]] = {
    Saboteur.bytes_missing: ("bytes_missing", 9),
    Saboteur.bytes_flipped: ("bytes_damaged", 9),
    Saboteur.bytes_cut: ("bytes_damaged", 7),
    Saboteur.bytes_grown: ("bytes_damaged", 5),
    Saboteur.condemned: ("condemned_in_use", 5),
    Saboteur.file_oid: ("file_wrong", 5),
    Saboteur.file_is_lfs: ("file_wrong", 5),
    Saboteur.file_blob: ("file_lost", 4),
    Saboteur.tree_oid: ("revision_wrong", 5),
    Saboteur.message: ("revision_wrong", 5),
    Saboteur.ref: ("ref_lost", 6),
    Saboteur.branch: ("branch_missing", 6),
    Saboteur.usage: ("usage_wrong", 6),
    Saboteur.stray: ("stray", 20),
    Saboteur.leftover: ("leftover", 20),
}


def faults(**options: Any) -> list[IntegrityFault]:
    return list(fsck(**options))


def test_a_sound_hub_has_no_faults(hub: list[MLModel]) -> None:
    assert faults() == []
    assert faults(quick=True) == []


def test_each_of_many_random_faults_is_found_and_none_is_made_up(
    data_dir: Path, alice: User
) -> None:
    make_hub(repositories=6, turns=4)
    saboteur = Saboteur(seed=3)
    work = [fault for fault, (_, times) in KINDS.items() for _ in range(times)]
    saboteur.chance.shuffle(work)
    # Last, since a lost file changes what its repository uses as well.
    work.sort(key=lambda fault: fault is Saboteur.usage)
    injected = []
    try:
        for fault in work:
            if fault is Saboteur.usage and Saboteur.usage not in {f for f, *_ in injected}:
                recount()
            injected.append((fault, KINDS[fault][0], fault(saboteur)))
        unexplained = faults()
    finally:
        mend()
    assert len(injected) >= 100
    for _, kind, subject in injected:
        match = [f for f in unexplained if f.kind == kind and subject in f.subject]
        assert match, (kind, subject)
        unexplained.remove(match[0])
    assert not unexplained


def mend() -> None:
    """Leave a database that its own constraints accept."""
    lost = ~models.Exists(Blob.objects.filter(pk=models.OuterRef("blob_id")))
    File.objects.filter(lost).delete()
    Ref.objects.filter(revision_id__gte=10**9).delete()


@pytest.mark.parametrize(
    ("sabotage", "kind"),
    [(Saboteur.size_wrong, "row_wrong"), (Saboteur.git_oid_wrong, "row_wrong"),
     (Saboteur.file_gone, "revision_wrong")],
)  # fmt: skip
def test_what_follows_from_a_fault_is_not_reported_as_another(
    hub: list[MLModel], sabotage: Callable[[Saboteur], str], kind: str
) -> None:
    subjects = [sabotage(Saboteur(seed)) for seed in range(3)]
    recount()
    found = faults()
    assert {fault.kind for fault in found} == {kind}
    assert {subject for subject in subjects if any(subject in f.subject for f in found)} == set(
        subjects
    )


def test_a_quick_look_finds_what_is_missing_or_of_another_length(hub: list[MLModel]) -> None:
    saboteur = Saboteur(seed=1)
    gone, cut = saboteur.bytes_missing(), saboteur.bytes_cut()
    saboteur.bytes_flipped()
    assert {(f.kind, f.subject) for f in faults(quick=True)} == {
        ("bytes_missing", gone),
        ("bytes_damaged", cut),
    }


def test_litter_is_told_from_damage_and_collected(hub: list[MLModel]) -> None:
    Saboteur(seed=2).stray()
    (litter,) = faults()
    assert litter.is_litter
    assert litter.as_dict()["kind"] == "stray"
    gc(grace=timezone.timedelta(0))
    assert faults() == []


def test_uploading_damaged_bytes_again_mends_them(hub: list[MLModel]) -> None:
    saboteur = Saboteur(seed=4)
    blob = saboteur.blob()
    data = saboteur.path_of(blob).read_bytes()
    saboteur.path_of(blob).write_bytes(b"X" * len(data))
    assert [fault.kind for fault in faults()] == ["bytes_damaged"]
    store(data)
    assert faults() == []


def test_progress_is_told(hub: list[MLModel]) -> None:
    told: list[tuple[str, int, int]] = []
    faults(progress=lambda *what: told.append(what))
    assert {what for what, _, _ in told} == {
        "blobs", "stored bytes", "files", "revisions", "repositories"
    }  # fmt: skip
