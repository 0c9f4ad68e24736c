"""Large files taken out: of the newest revisions only, or of all that ever were."""

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.fair.identifier import identifier_get, identifier_of, pid_url, withdrawn_get
from registry.selectors.fair.source import source_pids
from registry.selectors.repository.revision import branch_get, files_of, revision_get
from registry.selectors.storage.blob import blobs_unreferenced
from registry.selectors.storage.lfsfile import lfsfiles_of
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_update
from registry.services.repository.ref import ref_create
from registry.services.repository.revision import Add, commit
from registry.services.storage import lfsfile
from registry.services.storage.lfsfile import lfsfiles_erase, lfsfiles_remove
from registry.services.storage.quota import usage_recount
from registry.states import JobKind, RefKind, RepositoryKind
from registry.storage.git import commit_oid, tree_oid
from registry.tables import AuditEntry, Graph, Identifier, Job, MLModel, Record, Revision, User
from tests.factories import commit_files, make_mlmodel, readme, store
from tests.registry import shopfloor
from tests.registry.test_access import full_floor

OLD, NEW = b"old weights" * 9, b"new weights" * 9


@pytest.fixture
def net(alice: User) -> MLModel:
    """Four revisions: weights, other weights beside a text, a text only; a tag on the first."""
    mlmodel = make_mlmodel("alice/net", actor=alice)
    first = commit_files(mlmodel, {"w.bin": OLD, "README.md": readme()}, actor=alice)
    commit_files(mlmodel, {"w.bin": NEW, "copy.bin": OLD, "a.txt": b"a"}, actor=alice)
    commit_files(mlmodel, {"a.txt": b"b"}, actor=alice)
    ref_create(actor=alice, mlmodel=mlmodel, kind=RefKind.TAG, name="v1", revision=first)
    return mlmodel


def digest(data: bytes) -> str:
    return store(data).sha256


def paths(revision: Revision) -> set[str]:
    return {file.path for file in files_of(revision)} - {".gitattributes"}


def check_ids(mlmodel: MLModel) -> None:
    """Every revision is named as git names the same commit, and says truly what it uses."""
    for row in mlmodel.revisions.select_related("parent"):
        tree = tree_oid(dict(row.files.values_list("path", "oid")))
        assert row.tree_oid == tree
        parent = row.parent.oid if row.parent else None
        assert row.oid == commit_oid(
            tree=tree, parent=parent, author_line=row.author_line, message=row.message
        )
    assert usage_recount(mlmodel) == 0


def test_each_large_blob_is_listed_once_where_it_first_came(net: MLModel, alice: User) -> None:
    rows = [
        (row.path, row.blob_id, row.branch, row.changed_in.message)
        for row in lfsfiles_of(alice, net)
    ]
    assert rows == [
        ("w.bin", digest(NEW), "main", "Change files"),
        ("w.bin", digest(OLD), "main", "Change files"),
    ]
    commit_files(net, {"copy.bin": None}, actor=alice)
    assert [row.branch for row in lfsfiles_of(alice, net)] == ["main", None]


def test_removing_leaves_the_past_as_it_was(net: MLModel, alice: User) -> None:
    before = set(net.revisions.values_list("oid", flat=True))
    ref_create(
        actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="b", revision=revision_get(net, "v1")
    )
    lfsfiles_remove(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    assert paths(revision_get(net)) == {"w.bin", "README.md", "a.txt"}
    assert paths(revision_get(net, "b")) == {"README.md"}
    assert paths(revision_get(net, "v1")) == {"w.bin", "README.md"}
    assert before < set(net.revisions.values_list("oid", flat=True))
    count = net.revisions.count()
    lfsfiles_remove(actor=alice, mlmodel=net, sha256s={digest(OLD), "0" * 64})
    assert net.revisions.count() == count
    check_ids(net)


def test_erasing_leaves_revisions_that_never_had_the_file(net: MLModel, alice: User) -> None:
    before = list(net.revisions.order_by("pk").values_list("oid", flat=True))
    lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    after = list(net.revisions.order_by("pk").values_list("oid", flat=True))
    assert after[0] == before[0]
    assert not set(after[1:]) & set(before)
    assert [paths(row) for row in net.revisions.order_by("pk")] == [
        set(),
        {"README.md"},
        {"w.bin", "README.md", "a.txt"},
        {"w.bin", "README.md", "a.txt"},
    ]
    assert revision_get(net, "v1").oid == after[1]
    assert revision_get(net).oid == after[3]
    check_ids(net)
    assert blobs_unreferenced().filter(pk=digest(OLD)).exists()
    assert AuditEntry.objects.get(action="lfsfile.erase").detail["files"] == 3
    # Nothing is left to do, and what comes next builds on what is there.
    lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    commit_files(net, {"c.txt": b"c"}, actor=alice)
    check_ids(net)


def test_an_identifier_never_leads_to_other_files(net: MLModel, alice: User, bob: User) -> None:
    old = identifier_of(revision_get(net, "v1"))
    assert old is not None
    copy = fork(actor=bob, source=net, namespace="bob", name="net")
    lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    left = identifier_get(AnonymousUser(), old.name)
    assert (left.mlmodel, left.revision, left.identifier.oid) == (net, None, old.oid)
    assert left.description is not None
    assert left.description.withdrawal is not None
    assert "erased" in (left.description.withdrawal.reason or "")
    assert "w.bin" in {file.path for file in left.description.files}
    there = withdrawn_get(RepositoryKind.MODEL, net.full_name, old.oid, mlmodel=net)
    assert there is not None
    assert there.identifier == left.identifier
    new = identifier_of(revision_get(net, "v1"))
    assert new is not None
    assert (new.oid, new.withdrawn_at) == (revision_get(net, "v1").oid, None)
    assert new.name != old.name
    # One for all versions; one for each of three, and one for each of them that was rewritten.
    assert net.identifiers.count() == 1 + 3 + 3
    # What was made from the old version says so.
    source = revision_get(copy, "v1").derivations.get()
    assert source_pids([source]) == {source.pk: pid_url(old.name)}


def test_what_is_private_leaves_no_record_when_it_is_rewritten(net: MLModel, alice: User) -> None:
    mlmodel_update(actor=alice, mlmodel=net, visibility="private")
    old = identifier_of(revision_get(net))
    assert old is not None
    lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    with pytest.raises(NotFound):
        identifier_get(alice, old.name)


def test_a_version_with_a_doi_stays_as_it_is(net: MLModel, alice: User) -> None:
    head = revision_get(net)
    Identifier.objects.filter(revision=head).update(doi="10.5072/x")
    with pytest.raises(Conflict) as caught:
        lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    assert caught.value.code == "doi_exists"
    assert revision_get(net).oid == head.oid
    assert not Identifier.objects.filter(withdrawn_at__isnull=False).exists()


def test_only_what_changes_gets_another_id(net: MLModel, alice: User) -> None:
    before = list(net.revisions.order_by("pk").values_list("oid", flat=True))
    lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(NEW)})
    after = list(net.revisions.order_by("pk").values_list("oid", flat=True))
    assert (after[:2], set(after[2:]) & set(before)) == (before[:2], set())
    assert paths(revision_get(net)) == {"README.md", "a.txt", "copy.bin"}


def test_a_commit_worked_out_before_is_stale_after(net: MLModel, alice: User) -> None:
    head = branch_get(net, "main")
    lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    with pytest.raises(Conflict) as caught:
        commit_files(net, {"d.txt": b"d"}, actor=alice, parent_oid=head.revision.oid)
    assert caught.value.code == "stale_parent"
    assert branch_get(net, "main").pk != head.pk


def test_whoever_commits_meanwhile_keeps_the_past(
    net: MLModel, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite = lfsfile._rewritten

    def slowly(*given: object) -> list[Revision]:
        changed = rewrite(*given)  # type: ignore[arg-type]
        commit_files(net, {"e.txt": b"e"}, actor=alice)
        return changed

    monkeypatch.setattr(lfsfile, "_rewritten", slowly)
    with pytest.raises(Conflict) as caught:
        lfsfiles_erase(actor=alice, mlmodel=net, sha256s={digest(OLD)})
    assert caught.value.code == "stale_parent"
    assert "copy.bin" in paths(revision_get(net))
    check_ids(net)


def test_revisions_with_records_keep_their_ids(db: None) -> None:
    made = full_floor("owner/net", private=False)
    mlmodel, oid = made.revision.mlmodel, made.revision.oid
    digests = {file.blob_id for file in made.revision.files.filter(is_lfs=True)}
    assert digests
    with pytest.raises(Conflict) as caught:
        lfsfiles_erase(actor=None, mlmodel=mlmodel, sha256s=digests)
    assert caught.value.code == "record_exists"
    assert Record.objects.get().revision.oid == oid
    assert mlmodel.revisions.get(oid=oid).files.filter(blob__in=digests).exists()


def test_a_network_is_inspected_anew_and_what_was_read_from_an_erased_one_goes(db: None) -> None:
    made = shopfloor.floor("owner/net")
    mlmodel, revision = made.revision.mlmodel, made.revision
    (network,) = revision.files.filter(path__endswith=".onnx")
    assert Graph.objects.filter(revision=revision).exists()
    other = store(b"other weights")
    commit(
        actor=None,
        mlmodel=mlmodel,
        message="Add more",
        operations=[Add("more.bin", other.sha256)],
        is_checked=False,
    )
    lfsfiles_erase(actor=None, mlmodel=mlmodel, sha256s={other.sha256})
    assert Graph.objects.filter(revision=revision).exists()
    assert Job.objects.filter(kind=JobKind.INSPECT, revision=revision_get(mlmodel)).exists()
    lfsfiles_erase(actor=None, mlmodel=mlmodel, sha256s={network.blob_id})
    assert not Graph.objects.exists()


def test_only_writers_list_and_take_out_and_only_what_is_a_digest(
    net: MLModel, alice: User, bob: User
) -> None:
    for act in (lfsfiles_erase, lfsfiles_remove):
        with pytest.raises(Forbidden):
            act(actor=bob, mlmodel=net, sha256s={digest(OLD)})
        for bad in ("", "a" * 63, "A" * 64, "\0" * 64):
            with pytest.raises(Invalid):
                act(actor=alice, mlmodel=net, sha256s={bad})
    with pytest.raises(Forbidden):
        lfsfiles_of(bob, net)
