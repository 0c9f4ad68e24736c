"""Several people commit to one branch at once."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from registry.errors import Conflict
from registry.selectors.repository.revision import files_of, history, revision_get
from registry.selectors.storage.integrity import files_lost, files_repeated
from registry.services.repository import revision as service
from registry.services.repository.draft import CommitRequest, RevisionDraft, commit_draft
from registry.services.repository.ref import ref_create
from registry.states import RefKind
from registry.tables import AuditEntry, Job, MLModel, Revision
from tests.factories import commit_files, make_mlmodel, make_user, member, readme, tiny_onnx

PEOPLE = 6


def all_at_once(act: Callable[[int], Revision]) -> tuple[list[Revision], list[Conflict]]:
    """What came of ``act`` for each number, begun together in threads of their own."""
    begin = threading.Barrier(PEOPLE)
    made: list[Revision] = []
    refused: list[Conflict] = []
    broken: list[BaseException] = []

    def run(number: int) -> None:
        try:
            begin.wait()
            made.append(act(number))
        except Conflict as conflict:
            refused.append(conflict)
        except BaseException as failure:  # noqa: BLE001 (told to the test's own thread)
            broken.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(PEOPLE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broken
    return made, refused


@pytest.fixture
def net(transactional_db: None) -> MLModel:
    """``alice/net``, visible to other threads."""
    return make_mlmodel("alice/net", actor=make_user("alice"), files={"README.md": readme()})


def test_of_those_who_name_one_parent_exactly_one_wins(net: MLModel) -> None:
    head = revision_get(net)
    made, refused = all_at_once(
        lambda number: commit_files(
            net, {f"{number}.txt": b"x"}, actor=member("alice"), parent_oid=head.oid
        )
    )
    assert len(made) == 1
    assert [conflict.code for conflict in refused] == ["stale_parent"] * (PEOPLE - 1)
    assert revision_get(net) == made[0]
    assert made[0].parent == head
    assert Revision.objects.count() == 3
    assert AuditEntry.objects.filter(action="revision.commit").count() == 2


def test_those_who_name_no_parent_follow_each_other(net: MLModel) -> None:
    head = revision_get(net)
    made, refused = all_at_once(
        lambda number: commit_files(net, {f"{number}.onnx": tiny_onnx()}, actor=member("alice"))
    )
    assert not refused
    newest = revision_get(net)
    line = list(history(net, newest))
    assert line[PEOPLE] == head
    assert {revision.oid for revision in line[:PEOPLE]} == {revision.oid for revision in made}
    names = {f"{number}.onnx" for number in range(PEOPLE)}
    assert names < {file.path for file in files_of(newest)}
    assert Job.objects.count() == PEOPLE


def test_a_commit_that_was_overtaken_builds_on_what_overtook_it(
    net: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = member("alice")
    overtaking: list[Revision] = []

    def overtaken(request: CommitRequest, parent: Revision) -> RevisionDraft:
        # Between the reading of the head and the writing of the commit: the worst moment.
        monkeypatch.setattr(service, "commit_draft", commit_draft)
        overtaking.append(commit_files(net, {f"first{len(overtaking)}": b"1"}, actor=alice))
        return commit_draft(request, parent)

    monkeypatch.setattr(service, "commit_draft", overtaken)
    made = commit_files(net, {"second.txt": b"2"}, actor=alice)
    assert made.parent == overtaking[0]
    assert {"first0", "second.txt"} < {file.path for file in files_of(made)}
    monkeypatch.setattr(service, "commit_draft", overtaken)
    with pytest.raises(Conflict) as caught:
        commit_files(net, {"third.txt": b"3"}, actor=alice, parent_oid=made.oid)
    assert caught.value.code == "stale_parent"
    assert revision_get(net) == overtaking[1]


def test_of_branches_at_one_revision_one_shares_its_rows_and_the_others_copy(net: MLModel) -> None:
    start = revision_get(net)
    for number in range(PEOPLE):
        kind, name = RefKind.BRANCH, f"b{number}"
        ref_create(actor=None, mlmodel=net, kind=kind, name=name, revision=start)
    made, refused = all_at_once(
        lambda number: commit_files(
            net, {f"{number}": b"x", "README.md": None}, actor=member("alice"), branch=f"b{number}"
        )
    )
    assert not refused
    assert [one.series == start.series for one in made].count(True) == 1
    assert len({one.series_id for one in made}) == PEOPLE
    paths = [frozenset(one.files.values_list("path", flat=True)) for one in made]
    assert set(paths) == {frozenset({".gitattributes", f"{one}"}) for one in range(PEOPLE)}
    assert not files_repeated().exists()
    assert not files_lost().exists()
    assert "README.md" in {file.path for file in files_of(start)}


def test_people_make_one_model_of_a_name(net: MLModel) -> None:
    def make(_: int) -> Revision:
        return revision_get(make_mlmodel("alice/other", actor=member("alice")))

    made, refused = all_at_once(make)
    assert len(made) == 1
    assert {conflict.code for conflict in refused} == {"model_exists"}
    assert MLModel.objects.count() == 2
