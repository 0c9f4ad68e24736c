"""Commits, history, branches and tags over HTTP."""

import hashlib
from typing import Any

from pytest_django import DjangoAssertNumQueries

from registry.selectors.access import readable_jobs
from registry.tables import MLModel
from tests.factories import commit_files, readme, tiny_onnx
from tests.hub.api.client import Api

MODEL = "models/lab/galaxy-cnn"
#: Operations that cannot be, and how they are refused.
REFUSED = [
    ({"op": "add", "path": "../x", "sha256": "0" * 64}, 400, "invalid_path"),
    ({"op": "add", "path": "a\nb", "sha256": "0" * 64}, 400, "invalid_path"),
    ({"op": "add", "path": " a", "sha256": "0" * 64}, 400, "blob_missing"),
    ({"op": "add", "path": "a", "sha256": "0" * 64}, 400, "blob_missing"),
    ({"op": "add", "path": "a", "sha256": "x"}, 400, "invalid_request"),
    ({"op": "add", "path": "a"}, 400, "invalid_request"),
    ({"op": "delete", "path": "a", "sha256": "0" * 64}, 400, "invalid_request"),
    ({"op": "move", "path": "a"}, 400, "invalid_request"),
    ({"op": "delete", "path": "nothing"}, 404, "file_not_found"),
    ({"op": "delete", "path": "README.md"}, 400, "license_missing"),
]


def add(api: Api, path: str, data: bytes) -> dict[str, str]:
    digest = hashlib.sha256(data).hexdigest()
    assert api.upload(data, digest).status in {200, 201}
    return {"op": "add", "path": path, "sha256": digest}


def commit(api: Api, *operations: dict[str, str], **options: Any) -> Any:
    body = {"message": "Change", "operations": list(operations), **options}
    return api.post(f"{MODEL}/commits", body)


def test_a_commit_adds_copies_and_deletes_at_once(as_charlie: Api, galaxy: MLModel) -> None:
    head = as_charlie.get(MODEL).ok()["revision"]
    copy = {
        "op": "copy", "path": "kept.onnx", "source_path": "model.onnx", "source_revision": head,
    }  # fmt: skip
    made = commit(
        as_charlie,
        add(as_charlie, "notes/a.txt", b"a"),
        copy,
        {"op": "delete", "path": "model.onnx"},
        parent=head,
    ).ok(201)
    paths = {file["path"] for file in made["files"]}
    assert paths == {".gitattributes", "README.md", "notes/a.txt", "kept.onnx"}
    assert made["parent"] == head
    assert made["author"] == "charlie"
    assert as_charlie.get(MODEL).ok()["revision"] == made["oid"]
    assert as_charlie.get(f"{MODEL}/revisions/main").ok() == made


def test_a_commit_copies_from_another_readable_model(
    as_charlie: Api, as_alice: Api, galaxy: MLModel, secret: MLModel
) -> None:
    source = as_charlie.get("models/lab/secret").ok()
    copy = {
        "op": "copy", "path": "other.onnx", "source_path": "model.onnx",
        "source": "lab/secret", "source_revision": source["revision"],
    }  # fmt: skip
    made = commit(as_charlie, copy).ok(201)
    assert "other.onnx" in {file["path"] for file in made["files"]}
    row = galaxy.revisions.get(oid=made["oid"]).derivations.get()
    assert (row.relation, row.source_mlmodel, row.source_oid) == (
        "copy", secret, source["revision"],
    )  # fmt: skip
    as_alice.post("models", {"namespace": "alice", "name": "net"}).ok(201)
    answer = as_alice.post("models/alice/net/commits", {"message": "Take", "operations": [copy]})
    assert (answer.status, answer.code) == (404, "model_not_found")


def test_a_commit_with_a_network_tells_the_job_that_inspects_it(
    as_charlie: Api, galaxy: MLModel
) -> None:
    network = add(as_charlie, "model.onnx", tiny_onnx(scale=0.25))
    (job,) = commit(as_charlie, network).ok(201)["jobs"]
    assert (job["kind"], job["state"], job["model"]) == ("inspect", "queued", "lab/galaxy-cnn")
    assert job["queue_position"] == readable_jobs(None).count()
    assert as_charlie.get(f"jobs/{job['uuid']}").ok() == job


def test_a_commit_that_cannot_be_is_refused_whole(as_charlie: Api, galaxy: MLModel) -> None:
    before = as_charlie.get(MODEL).ok()["revision"]
    good = add(as_charlie, "good.txt", b"good")
    for operation, status, code in REFUSED:
        answer = commit(as_charlie, good, operation)
        assert (answer.status, answer.code) == (status, code), operation
        assert as_charlie.get(MODEL).ok()["revision"] == before, operation


def test_a_faulty_operation_is_named_by_its_place(as_charlie: Api, galaxy: MLModel) -> None:
    answer = commit(as_charlie, {"op": "delete", "path": "model.onnx"}, {"op": "add", "path": "a"})
    assert answer.json["fields"] == {"operations.1.sha256": "This field is required."}


def test_a_commit_on_what_was_is_stale(as_charlie: Api, galaxy: MLModel) -> None:
    head = as_charlie.get(MODEL).ok()["revision"]
    commit(as_charlie, add(as_charlie, "a", b"a"), parent=head[:7]).ok(201)
    answer = commit(as_charlie, add(as_charlie, "b", b"b"), parent=head)
    assert (answer.status, answer.code) == (409, "stale_parent")


def test_a_commit_of_nothing_new_is_told_apart(as_charlie: Api, galaxy: MLModel) -> None:
    same = add(as_charlie, "README.md", (b"---\nlicense: mit\n---\n# New\n"))
    commit(as_charlie, same).ok(201)
    assert commit(as_charlie, same).code == "nothing_to_commit"
    assert commit(as_charlie).code == "invalid_request"


def test_a_bad_card_is_told_with_its_line(as_charlie: Api, galaxy: MLModel) -> None:
    bad = add(as_charlie, "README.md", b"---\nlicense: mit\ntags: [a\n---\n")
    answer = commit(as_charlie, bad)
    assert answer.code == "invalid_card"
    assert "line" in answer.json["detail"]


def test_nobody_commits_to_a_strangers_model(as_alice: Api, galaxy: MLModel) -> None:
    assert commit(as_alice, add(as_alice, "a", b"a")).code == "permission_denied"


def test_history_is_read_newest_first_page_by_page(anonymous: Api, galaxy: MLModel) -> None:
    for number in range(3):
        commit_files(galaxy, {"a.txt": str(number)}, message=f"number {number}")
    messages = [line["message"] for line in anonymous.all(f"{MODEL}/revisions", limit=2)]
    assert messages == ["number 2", "number 1", "number 0", "Change files", "initial commit"]
    older = anonymous.all(f"{MODEL}/revisions", limit=2)[2]["oid"]
    assert len(anonymous.all(f"{MODEL}/revisions?revision={older}", limit=2)) == 3


def test_a_longer_history_costs_no_more_queries(
    anonymous: Api, galaxy: MLModel, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(10) as counted:
        anonymous.get(f"{MODEL}/revisions").ok()
        few = len(counted)
    for number in range(4):
        commit_files(galaxy, {"a.txt": str(number)})
    with django_assert_max_num_queries(few):
        assert len(anonymous.get(f"{MODEL}/revisions").ok()["items"]) == 6


def test_a_revision_has_several_names(as_charlie: Api, galaxy: MLModel) -> None:
    head = as_charlie.get(MODEL).ok()["revision"]
    as_charlie.put(f"{MODEL}/refs/tag/v1.0", {"revision": "main"}).ok(201)
    as_charlie.put(f"{MODEL}/refs/branch/try/this", {"revision": head[:10]}).ok(201)
    for name in ("main", "v1.0", "try/this", "refs/tags/v1.0", head, head[:7], head.upper()):
        assert as_charlie.get(f"{MODEL}/revisions/{name}").ok()["oid"] == head
    refs = as_charlie.all(f"{MODEL}/refs", limit=2)
    assert [(ref["kind"], ref["name"]) for ref in refs] == [
        ("branch", "main"),
        ("branch", "try/this"),
        ("tag", "v1.0"),
    ]


def test_naming_again_is_fine_and_renaming_is_not(as_charlie: Api, galaxy: MLModel) -> None:
    tag = f"{MODEL}/refs/tag/v1.0"
    as_charlie.put(tag, {"revision": "main"}).ok(201)
    as_charlie.put(tag, {"revision": "main"}).ok(200)
    commit_files(galaxy, {"README.md": readme(title="newer")})
    answer = as_charlie.put(tag, {"revision": "main"})
    assert (answer.status, answer.code) == (409, "ref_exists")
    assert as_charlie.delete(tag).status == 204
    assert as_charlie.delete(tag).code == "revision_not_found"
    as_charlie.put(tag, {"revision": "main"}).ok(201)


def test_names_git_cannot_keep_are_refused(as_charlie: Api, galaxy: MLModel) -> None:
    for name in ("a..b", "a b", "-a", "a.lock"):
        answer = as_charlie.put(f"{MODEL}/refs/tag/{name}", {"revision": "main"})
        assert answer.code == "invalid_ref"
    assert as_charlie.delete(f"{MODEL}/refs/branch/main").code == "permission_denied"
    assert as_charlie.put(f"{MODEL}/refs/note/x", {"revision": "main"}).code == "page_not_found"


def test_a_revision_nobody_made_is_not_found(anonymous: Api, galaxy: MLModel) -> None:
    for name in ("nothing", "0" * 40, "0" * 7, "%F0%9F%98%80", "main/x"):
        assert anonymous.get(f"{MODEL}/revisions/{name}").code == "revision_not_found", name
        assert anonymous.get(f"{MODEL}?revision={name}").code == "revision_not_found", name
