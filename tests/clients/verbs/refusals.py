"""Refusals of verbs: the situation, the class of the exception, and each verb that meets it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from huggingface_hub import CommitOperationAdd, HfApi, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tests.clients.verbs.context import Context, refused

#: A call with a repository's name.
Named = Callable[[HfApi, str], Any]
#: A call with a repository's name and a revision or a path.
Placed = Callable[[HfApi, str, str], Any]

MISSING = "alice/no-such-repository"

#: Verbs that read a repository.
READS: dict[str, Named] = {
    "repo_info": lambda api, name: api.repo_info(name),
    "model_info": lambda api, name: api.model_info(name),
    "resolve_revision": lambda api, name: api.resolve_revision(name),
    "list_repo_files": lambda api, name: api.list_repo_files(name),
    "list_repo_tree": lambda api, name: api.list_repo_tree(name),
    "list_repo_refs": lambda api, name: api.list_repo_refs(name),
    "list_repo_commits": lambda api, name: api.list_repo_commits(name),
    "get_paths_info": lambda api, name: api.get_paths_info(name, ["a.txt"]),
    "hf_hub_download": lambda api, name: api.hf_hub_download(name, "a.txt"),
    "snapshot_download": lambda api, name: api.snapshot_download(name),
    "get_hf_file_metadata": lambda api, name: api.get_hf_file_metadata(
        url=hf_hub_url(name, "a.txt")
    ),
    "parse_safetensors_file_metadata": lambda api, name: api.parse_safetensors_file_metadata(
        name, "model.safetensors"
    ),
    "get_sharded_safetensors_metadata": lambda api, name: api.get_sharded_safetensors_metadata(
        name
    ),
    "get_repo_discussions": lambda api, name: api.get_repo_discussions(name),
    "get_discussion_details": lambda api, name: api.get_discussion_details(name, 1),
    "list_repo_likers": lambda api, name: api.list_repo_likers(name),
    "auth_check": lambda api, name: api.auth_check(name),
}
#: Verbs that anybody who may read a public repository may use.
SPEECH: dict[str, Named] = {
    "create_discussion": lambda api, name: api.create_discussion(name, title="A question"),
    "create_pull_request": lambda api, name: api.create_pull_request(name, title="An idea"),
    "unlike": lambda api, name: api.unlike(name),
    "duplicate_repo": lambda api, name: api.duplicate_repo(name, "bob/copy"),
}
#: Verbs that need the right to write.
WRITES: dict[str, Named] = {
    "delete_repo": lambda api, name: api.delete_repo(name),
    "move_repo": lambda api, name: api.move_repo(name, f"{name}-moved"),
    "update_repo_settings": lambda api, name: api.update_repo_settings(name, gated="auto"),
    "create_commit": lambda api, name: api.create_commit(
        name, [CommitOperationAdd("a.txt", b"b")], commit_message="Change"
    ),
    "upload_file": lambda api, name: api.upload_file(
        path_or_fileobj=b"b", path_in_repo="a.bin", repo_id=name
    ),
    "delete_file": lambda api, name: api.delete_file("a.txt", name),
    "create_branch": lambda api, name: api.create_branch(name, branch="other"),
    "delete_branch": lambda api, name: api.delete_branch(name, branch="next"),
    "create_tag": lambda api, name: api.create_tag(name, tag="v2"),
    "delete_tag": lambda api, name: api.delete_tag(name, tag="v1"),
    "super_squash_history": lambda api, name: api.super_squash_history(name),
    "list_lfs_files": lambda api, name: api.list_lfs_files(name),
    "list_pending_access_requests": lambda api, name: api.list_pending_access_requests(name),
    "list_accepted_access_requests": lambda api, name: api.list_accepted_access_requests(name),
    "list_rejected_access_requests": lambda api, name: api.list_rejected_access_requests(name),
    "accept_access_request": lambda api, name: api.accept_access_request(name, "bob"),
    "reject_access_request": lambda api, name: api.reject_access_request(
        name, "bob", rejection_reason="No"
    ),
    "cancel_access_request": lambda api, name: api.cancel_access_request(name, "bob"),
    "grant_access": lambda api, name: api.grant_access(name, "bob"),
    "rename_discussion": lambda api, name: api.rename_discussion(name, 1, new_title="Other"),
    "change_discussion_status": lambda api, name: api.change_discussion_status(name, 1, "closed"),
    "merge_pull_request": lambda api, name: api.merge_pull_request(name, 1),
}
#: Verbs that read a revision.
REVISIONS: dict[str, Placed] = {
    "repo_info": lambda api, name, rev: api.repo_info(name, revision=rev),
    "model_info": lambda api, name, rev: api.model_info(name, revision=rev),
    "resolve_revision": lambda api, name, rev: api.resolve_revision(name, revision=rev),
    "list_repo_files": lambda api, name, rev: api.list_repo_files(name, revision=rev),
    "list_repo_tree": lambda api, name, rev: api.list_repo_tree(name, revision=rev),
    "list_repo_commits": lambda api, name, rev: api.list_repo_commits(name, revision=rev),
    "get_paths_info": lambda api, name, rev: api.get_paths_info(name, ["a.txt"], revision=rev),
    "hf_hub_download": lambda api, name, rev: api.hf_hub_download(name, "a.txt", revision=rev),
    "snapshot_download": lambda api, name, rev: api.snapshot_download(name, revision=rev),
    "parse_safetensors_file_metadata": lambda api, name, rev: api.parse_safetensors_file_metadata(
        name, "model.safetensors", revision=rev
    ),
    "create_branch": lambda api, name, rev: api.create_branch(name, branch="b", revision=rev),
    "create_tag": lambda api, name, rev: api.create_tag(name, tag="t", revision=rev),
    "upload_file": lambda api, name, rev: api.upload_file(
        path_or_fileobj=b"b", path_in_repo="b.txt", repo_id=name, revision=rev
    ),
    "delete_file": lambda api, name, rev: api.delete_file("a.txt", name, revision=rev),
    "delete_branch": lambda api, name, rev: api.delete_branch(name, branch=rev),
    "delete_tag": lambda api, name, rev: api.delete_tag(name, tag=rev),
    "super_squash_history": lambda api, name, rev: api.super_squash_history(name, branch=rev),
}
#: Verbs that read a file.
FILES: dict[str, Placed] = {
    "list_repo_tree": lambda api, name, path: api.list_repo_tree(name, path_in_repo=path),
    "hf_hub_download": lambda api, name, path: api.hf_hub_download(name, path),
    "get_hf_file_metadata": lambda api, name, path: api.get_hf_file_metadata(
        url=hf_hub_url(name, path)
    ),
    "parse_safetensors_file_metadata": lambda api, name, path: api.parse_safetensors_file_metadata(
        name, path
    ),
    "get_sharded_safetensors_metadata": lambda api, name, path: (
        api.get_sharded_safetensors_metadata(name, filename=path)
    ),
    "delete_file": lambda api, name, path: api.delete_file(path, name),
    "delete_folder": lambda api, name, path: api.delete_folder(path, name),
}
#: Verbs of :data:`READS` that fetch what a gate protects.
GATED = {
    "hf_hub_download",
    "snapshot_download",
    "parse_safetensors_file_metadata",
    "get_sharded_safetensors_metadata",
    "auth_check",
    "get_hf_file_metadata",
}
#: Verbs of which the client checks no name before it sends it.
_UNCHECKED = {"get_sharded_safetensors_metadata", "auth_check", "move_repo"}


def _of(call: Placed, place: str) -> Named:
    return lambda api, name: call(api, name, place)


def _private(of: Context) -> str:
    return of.repo({"a.txt": b"a"}, private=True)


def _public(of: Context) -> str:
    name = of.repo({"a.txt": b"a"})
    of.api.create_branch(name, branch="next")
    of.api.create_tag(name, tag="v1")
    of.api.create_pull_request(name, title="An idea")
    return name


def _gated(of: Context) -> str:
    name = of.repo({"a.txt": b"a", "model.safetensors": b"a"})
    of.api.update_repo_settings(name, gated="manual")
    return name


#: Situation, and what prepares it once for all its verbs: client, name, exception, status, verbs.
Case = tuple[HfApi, str, type[Exception], int, dict[str, Named]]
CASES: dict[str, Callable[[Context], Case]] = {
    "a missing repository": lambda of: (
        *(of.api, MISSING, RepositoryNotFoundError, 404),
        READS | SPEECH | WRITES,
    ),
    "a name without a namespace": lambda of: (
        *(of.api, "no-such-model", RepositoryNotFoundError, 404),
        # The client itself moves no name without a namespace.
        {name: call for name, call in (READS | SPEECH | WRITES).items() if name != "move_repo"},
    ),
    "another's private repository": lambda of: (
        *(of.bob, _private(of), RepositoryNotFoundError, 404),
        READS | SPEECH | WRITES,
    ),
    "a private repository, without a token": lambda of: (
        *(of.nobody, _private(of), RepositoryNotFoundError, 404),
        READS,
    ),
    "a change of another's repository": lambda of: (
        *(of.bob, _public(of), HfHubHTTPError, 403),
        WRITES,
    ),
    "a change without a token": lambda of: (
        *(of.nobody, _public(of), HfHubHTTPError, 401),
        SPEECH | WRITES,
    ),
    "a gated file": lambda of: (
        *(of.bob, _gated(of), GatedRepoError, 403),
        {name: READS[name] for name in READS if name in GATED},
    ),
    "a gated file, without a token": lambda of: (
        *(of.nobody, _gated(of), GatedRepoError, 401),
        {name: READS[name] for name in READS if name in GATED},
    ),
    "a missing revision": lambda of: (
        *(of.api, _public(of), RevisionNotFoundError, 404),
        {name: _of(call, "no-such-revision") for name, call in REVISIONS.items()},
    ),
    "a missing file": lambda of: (
        *(of.api, _public(of), EntryNotFoundError, 404),
        {name: _of(call, "no-such/file") for name, call in FILES.items()},
    ),
    "a name that cannot be": lambda of: (
        *(of.api, "two/slashes/many", HFValidationError, 0),
        {name: call for name, call in (READS | WRITES).items() if name not in _UNCHECKED},
    ),
}


def refuse_all(of: Context, situation: str, present: set[str]) -> dict[str, str]:
    """What went wrong, by verb; empty where the refusal is the expected one."""
    api, name, error, status, verbs = CASES[situation](of)
    failures = {}
    for verb, call in verbs.items():
        if verb not in present:
            continue
        try:
            refused(error, partial(call, api, name), status=status)
        except Exception as failure:  # noqa: BLE001 (reported)
            failures[f"{situation}: {verb}"] = str(failure)
    return failures
