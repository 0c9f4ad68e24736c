"""History: revisions, branches, tags, commits, squashing."""

from huggingface_hub import CommitOperationAdd
from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError

from tests.clients.verbs.context import Context, refused
from tests.clients.verbs.table import works

AREA = "Revisions"


@works("list_repo_refs", AREA, "Branches, tags and pull requests.")
def list_repo_refs(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    of.api.create_tag(name, tag="v1")
    refs = of.api.list_repo_refs(name, include_pull_requests=True)
    assert [ref.name for ref in refs.branches] == ["main"]
    assert [ref.name for ref in refs.tags] == ["v1"]
    assert refs.pull_requests == []


@works("list_repo_commits", AREA, "")
def list_repo_commits(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    commits = of.api.list_repo_commits(name, formatted=True)
    assert [commit.title for commit in commits] == ["Add files", "initial commit"]
    assert commits[0].authors == ["alice"]


@works("resolve_revision", AREA, "")
def resolve_revision(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    assert of.api.resolve_revision(name).resolved == of.api.repo_info(name).sha
    refused(RevisionNotFoundError, lambda: of.api.resolve_revision(name, revision="none"))


@works("revision_exists", AREA, "")
def revision_exists(of: Context) -> None:
    name = of.repo()
    assert of.api.revision_exists(name, "main")
    assert not of.api.revision_exists(name, "none")


@works("create_branch", AREA, "From any revision; an existing one is refused with 409.")
def create_branch(of: Context) -> None:
    name = of.repo()
    of.api.create_branch(name, branch="team/idea")
    refused(HfHubHTTPError, lambda: of.api.create_branch(name, branch="team/idea"), status=409)
    of.api.create_branch(name, branch="team/idea", exist_ok=True)
    refused(RevisionNotFoundError, lambda: of.api.create_branch(name, branch="x", revision="none"))


@works("delete_branch", AREA, "Not `main`.")
def delete_branch(of: Context) -> None:
    name = of.repo()
    of.api.create_branch(name, branch="next")
    of.api.delete_branch(name, branch="next")
    assert not of.api.revision_exists(name, "next")
    refused(HfHubHTTPError, lambda: of.api.delete_branch(name, branch="main"), status=403)


@works("create_tag", AREA, "On any revision; an existing one is refused with 409.")
def create_tag(of: Context) -> None:
    name = of.repo()
    of.api.create_tag(name, tag="v1", tag_message="First")
    refused(HfHubHTTPError, lambda: of.api.create_tag(name, tag="v1"), status=409)
    of.api.create_tag(name, tag="v1", exist_ok=True)


@works("delete_tag", AREA, "")
def delete_tag(of: Context) -> None:
    name = of.repo()
    of.api.create_tag(name, tag="v1")
    of.api.delete_tag(name, tag="v1")
    refused(RevisionNotFoundError, lambda: of.api.delete_tag(name, tag="v1"))


@works("super_squash_history", AREA, "Of a branch; versions that have an identifier stay.")
def super_squash_history(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    of.api.super_squash_history(name, commit_message="One")
    assert [commit.title for commit in of.api.list_repo_commits(name)] == ["One"]
    assert of.api.file_exists(name, "a.txt")


@works("create_commit", AREA, "On a branch, or as a pull request; an outdated parent is refused.")
def create_commit(of: Context) -> None:
    name = of.repo()
    parent = of.api.repo_info(name).sha
    add = [CommitOperationAdd("a.txt", b"a")]
    commit = of.api.create_commit(name, add, commit_message="Add", parent_commit=parent)
    assert of.api.repo_info(name).sha == commit.oid

    def again() -> list[CommitOperationAdd]:
        return [CommitOperationAdd("a.txt", b"b")]

    refused(
        HfHubHTTPError,
        lambda: of.api.create_commit(name, again(), commit_message="B", parent_commit=parent),
        "The branch was updated since you opened this page",
        status=412,
    )
    pull = of.api.create_commit(name, again(), commit_message="Propose", create_pr=True)
    assert pull.pr_num == 1
    refused(
        RevisionNotFoundError,
        lambda: of.api.create_commit(name, again(), commit_message="B", revision="none"),
    )


@works("run_as_future", AREA, "")
def run_as_future(of: Context) -> None:
    name = of.repo()
    assert of.api.run_as_future(of.api.repo_exists, name).result()


@works("list_lfs_files", AREA, "For those who may delete them.")
def list_lfs_files(of: Context) -> None:
    name = of.repo({"a.bin": b"large"})
    (file,) = of.api.list_lfs_files(name)
    assert file.filename == "a.bin"
    refused(HfHubHTTPError, lambda: of.bob.list_lfs_files(name))


@works(
    "permanently_delete_lfs_files",
    AREA,
    "From all revisions; with `rewrite_history=False` from the newest only.",
)
def permanently_delete_lfs_files(of: Context) -> None:
    name = of.repo({"a.bin": b"large", "b.bin": b"larger"})
    files = {file.filename: file for file in of.api.list_lfs_files(name)}
    of.api.permanently_delete_lfs_files(name, [files["a.bin"]])
    assert [file.filename for file in of.api.list_lfs_files(name)] == ["b.bin"]
