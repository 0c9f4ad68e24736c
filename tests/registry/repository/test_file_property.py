"""Histories of any shape: each revision has the files that a dictionary would hold."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import count

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from registry.errors import Conflict
from registry.selectors.repository.revision import revision_get
from registry.selectors.storage.integrity import files_lost, files_repeated
from registry.services.discussion.merge import pull_request_merge
from registry.services.discussion.proposal import propose
from registry.services.repository import file as service
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_delete
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.repository.revision import Add, Delete, squash
from registry.services.storage.lfsfile import lfsfiles_erase
from registry.services.storage.prune import revisions_prune
from registry.services.storage.quota import usage_recount
from registry.states import RefKind
from registry.tables import Discussion, File, FileSeries, Job, MLModel, Revision
from tests.factories import commit_files, make_mlmodel, make_user, store

pytestmark = pytest.mark.django_db

PATHS = ["a", "b", "d/a", "d/b", "w.bin", "d/w.bin"]
CONTENTS = [b"0", b"1", b"2"]
changes = st.dictionaries(
    st.sampled_from(PATHS), st.none() | st.sampled_from(CONTENTS), min_size=1, max_size=4
)
numbers = st.integers(0, 20)
#: Path to the digest of a file and the key of the revision that last changed it.
Files = Mapping[str, tuple[str, int]]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def contents(revision: Revision) -> dict[str, tuple[str, str]]:
    """Path to the digest of a file and the commit id of the revision that last changed it."""
    rows = revision.files.values_list("path", "blob", "changed_in__oid")
    return {path: (sha256, oid) for path, sha256, oid in rows}


class Histories(RuleBasedStateMachine):
    """One repository with branches, pull requests, squashes, deletions and forks.

    ``files`` and ``parents`` are what its revisions must have, by key; ``heads`` the keys that
    branches lead to; ``pulls`` where each open pull request started, its head and its target.
    """

    @initialize(spare_rows=st.sampled_from([0, 3, 1000]))
    def start(self, spare_rows: int) -> None:
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.spare_rows, service._SPARE_ROWS = service._SPARE_ROWS, spare_rows
        self.alice = make_user("alice")
        self.mlmodel = make_mlmodel("alice/net", actor=self.alice)
        first = revision_get(self.mlmodel)
        rows = first.files.values_list("path", "blob")
        self.files: dict[int, Files] = {first.pk: {p: (blob, first.pk) for p, blob in rows}}
        self.parents: dict[int, int | None] = {first.pk: None}
        self.heads = {"main": first.pk}
        self.pulls: dict[int, tuple[int, int, str]] = {}
        self.held: set[int] = set()
        self.count = count()

    def teardown(self) -> None:
        if hasattr(self, "transaction"):
            service._SPARE_ROWS = self.spare_rows
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)

    @rule(number=numbers, changes=changes)
    def commit(self, number: int, changes: dict[str, bytes | None]) -> None:
        branch = self._branch(number)
        effective = self._effective(self.heads[branch], changes)
        if effective:
            message = f"commit {next(self.count)}"
            made = commit_files(
                self.mlmodel, effective, actor=self.alice, branch=branch, message=message
            )
            self._note(made, self.heads[branch], effective)
            self.heads[branch] = made.pk

    @rule(number=numbers, changes=changes)
    def open_pull_request(self, number: int, changes: dict[str, bytes | None]) -> None:
        branch = self._branch(number)
        start = self.heads[branch]
        effective = self._effective(start, changes)
        if not effective:
            return
        pull, made = propose(
            actor=self.alice,
            mlmodel=self.mlmodel,
            base=branch,
            title=f"pull {next(self.count)}",
            description="",
            operations=[
                Delete(path) if content is None else Add(path, store(content, self.alice).sha256)
                for path, content in effective.items()
            ],
        )
        self._note(made, start, effective)
        self.pulls[pull.pk] = start, made.pk, branch
        self.held.add(made.pk)

    @rule(number=numbers)
    def merge(self, number: int) -> None:
        if not self.pulls:
            return
        key = sorted(self.pulls)[number % len(self.pulls)]
        start, theirs, branch = self.pulls.pop(key)
        ours = self.heads.get(branch)
        if ours is None or start not in self._ancestors([ours]):
            return
        pull = Discussion.objects.select_related("mlmodel__namespace").get(pk=key)
        before, mine, proposed = (self._digests(one) for one in (start, ours, theirs))
        different = [p for p in before.keys() | proposed.keys() if before.get(p) != proposed.get(p)]
        different = [path for path in different if mine.get(path) != proposed.get(path)]
        if not different or any(mine.get(path) != before.get(path) for path in different):
            with pytest.raises(Conflict):
                pull_request_merge(actor=self.alice, pull=pull)
            return
        made = pull_request_merge(actor=self.alice, pull=pull)
        merged = dict(self.files[ours])
        for path in different:
            merged.pop(path, None)
            if path in proposed:
                merged[path] = proposed[path], made.pk
        self.files[made.pk], self.parents[made.pk] = merged, ours
        self.heads[branch] = made.pk
        self.held.add(made.pk)

    @rule(number=numbers)
    def squash(self, number: int) -> None:
        branch = self._branch(number)
        message = f"squash {next(self.count)}"
        made = squash(actor=self.alice, mlmodel=self.mlmodel, branch=branch, message=message)
        digests = self._digests(self.heads[branch])
        self.files[made.pk] = {path: (sha256, made.pk) for path, sha256 in digests.items()}
        self.parents[made.pk] = None
        self.heads[branch] = made.pk

    @rule(number=numbers)
    def add_branch(self, number: int) -> None:
        key, name = sorted(self.files)[number % len(self.files)], f"b{next(self.count)}"
        revision = Revision.objects.get(pk=key)
        kind = RefKind.BRANCH
        ref_create(actor=self.alice, mlmodel=self.mlmodel, kind=kind, name=name, revision=revision)
        self.heads[name] = key

    @rule(number=numbers)
    def delete_branch(self, number: int) -> None:
        branch = self._branch(number)
        if branch != "main":
            kind = RefKind.BRANCH
            ref_delete(actor=self.alice, mlmodel=self.mlmodel, kind=kind, name=branch)
            del self.heads[branch]

    @rule()
    def prune(self) -> None:
        # Queued ones keep their revisions.
        Job.objects.all().delete()
        revisions_prune(before=timezone.now() + timedelta(days=1))
        reached = self._ancestors([*self.heads.values(), *self.held])
        self.files = {key: files for key, files in self.files.items() if key in reached}

    @rule(content=st.sampled_from(CONTENTS))
    def erase(self, content: bytes) -> None:
        sha256 = digest(content)
        lfsfiles_erase(actor=self.alice, mlmodel=self.mlmodel, sha256s={sha256})
        for key, files in self.files.items():
            self.files[key] = {
                path: row
                for path, row in files.items()
                if not (path.endswith(".bin") and row[0] == sha256)
            }

    @rule()
    def fork(self) -> None:
        name = f"copy{next(self.count)}"
        copy = fork(actor=self.alice, source=self.mlmodel, namespace="alice", name=name)
        ours, theirs = (
            {one.oid: contents(one) for one in mlmodel.revisions.all()}
            for mlmodel in (self.mlmodel, copy)
        )
        assert ours == theirs
        assert usage_recount(copy) == 0
        self._check_rows()
        mlmodel_delete(actor=self.alice, mlmodel=copy)

    @invariant()
    def revisions_have_their_files(self) -> None:
        revisions = {one.pk: one for one in self.mlmodel.revisions.all()}
        assert revisions.keys() == self.files.keys()
        for key, revision in revisions.items():
            rows = revision.files.values_list("path", "blob", "changed_in")
            assert {path: tuple(row) for path, *row in rows} == self.files[key]
            assert len(rows) == revision.file_count
        at_once = File.objects.of(revisions.keys())
        pairs = sorted(at_once.values_list("series__revisions", "path"))
        assert pairs == sorted((key, path) for key, files in self.files.items() for path in files)
        self._check_rows()

    def _check_rows(self) -> None:
        assert not files_lost().exists()
        assert not files_repeated().exists()
        assert not FileSeries.objects.filter(revisions=None).exists()
        self.mlmodel = MLModel.objects.select_related("namespace").get(pk=self.mlmodel.pk)
        assert usage_recount(self.mlmodel) == 0

    def _branch(self, number: int) -> str:
        return sorted(self.heads)[number % len(self.heads)]

    def _digests(self, key: int) -> dict[str, str]:
        return {path: sha256 for path, (sha256, _) in self.files[key].items()}

    def _effective(self, key: int, changes: dict[str, bytes | None]) -> dict[str, bytes | None]:
        """Those of ``changes`` that change a file of the revision."""
        before = self._digests(key)
        return {
            path: content
            for path, content in changes.items()
            if before.get(path) != (None if content is None else digest(content))
        }

    def _note(self, made: Revision, parent: int, changes: Mapping[str, bytes | None]) -> None:
        files = {path: row for path, row in self.files[parent].items() if path not in changes}
        for path, content in changes.items():
            if content is not None:
                files[path] = digest(content), made.pk
        self.files[made.pk], self.parents[made.pk] = files, parent

    def _ancestors(self, keys: Iterable[int]) -> set[int]:
        reached: set[int] = set()
        for key in keys:
            at: int | None = key
            while at is not None and at not in reached:
                reached.add(at)
                at = self.parents[at]
        return reached


def test_every_revision_of_any_history_has_its_files(db: None) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Histories,
        settings=settings(
            # SQL that differs between databases is in few statements; SQLite runs most histories.
            max_examples=6 if connection.vendor == "postgresql" else 16,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
