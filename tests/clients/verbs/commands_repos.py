"""Commands of ``hf`` that work: repositories, discussions, webhooks."""

import json

from tests.clients.verbs.command_line import fails, hf, works
from tests.clients.verbs.context import Context

REPOS, DISCUSSIONS, WEBHOOKS = "Repositories", "Discussions and pull requests", "Webhooks"


@works("repos create", REPOS, "Spaces are refused.")
def repos_create(of: Context) -> None:
    name = of.name()
    hf(f"repos create {name} --private")
    assert of.api.model_info(name).private
    fails(f"repos create {name}", "409")
    hf(f"repos create {name} --exist-ok")
    fails(f"repos create {of.name()} --type space --sdk gradio", "has models and datasets")


@works("repos delete", REPOS)
def repos_delete(of: Context) -> None:
    name = of.repo()
    hf(f"repos delete {name} -y")
    assert not of.api.repo_exists(name)
    fails(f"repos delete {name} -y", "RepositoryNotFoundError")
    hf(f"repos delete {name} -y --missing-ok")


@works("repos duplicate", REPOS)
def repos_duplicate(of: Context) -> None:
    name, copy = of.repo({"a.txt": b"a"}), of.name()
    hf(f"repos duplicate {name} {copy}")
    assert "a.txt" in of.api.list_repo_files(copy)


@works("repos move", REPOS)
def repos_move(of: Context) -> None:
    name, other = of.repo({"a.txt": b"a"}), of.name()
    hf(f"repos move {name} {other}")
    assert of.api.model_info(name).id == other


@works("repos settings", REPOS)
def repos_settings(of: Context) -> None:
    name = of.repo()
    hf(f"repos settings {name} --gated manual --private")
    info = of.api.model_info(name)
    assert (info.gated, info.private) == ("manual", True)


@works("repos list", REPOS)
def repos_list(of: Context) -> None:
    name = of.repo()
    assert name in {row["id"] for row in json.loads(hf("repos list --limit 1000 --json"))}


@works("repos branch create", REPOS)
def branch_create(of: Context) -> None:
    name = of.repo()
    hf(f"repos branch create {name} next")
    assert "next" in {branch.name for branch in of.api.list_repo_refs(name).branches}
    fails(f"repos branch create {name} next", "409")


@works("repos branch delete", REPOS)
def branch_delete(of: Context) -> None:
    name = of.repo()
    hf(f"repos branch create {name} next")
    hf(f"repos branch delete {name} next")
    assert "next" not in {branch.name for branch in of.api.list_repo_refs(name).branches}


@works("repos tag create", REPOS)
def tag_create(of: Context) -> None:
    name = of.repo()
    hf(f"repos tag create {name} v1 -m First")
    assert [tag.name for tag in of.api.list_repo_refs(name).tags] == ["v1"]


@works("repos tag list", REPOS)
def tag_list(of: Context) -> None:
    name = of.repo()
    of.api.create_tag(name, tag="v1")
    assert "v1" in hf(f"repos tag list {name}")


@works("repos tag delete", REPOS)
def tag_delete(of: Context) -> None:
    name = of.repo()
    of.api.create_tag(name, tag="v1")
    hf(f"repos tag delete {name} v1 -y")
    assert not of.api.list_repo_refs(name).tags


def _discussed(of: Context) -> str:
    name = of.repo({"a.txt": b"a"})
    hf(f"discussions create {name} --title 'A question' --body Why?")
    return name


def _status(of: Context, name: str) -> str:
    return str(of.api.get_discussion_details(name, 1).status)


@works("discussions create", DISCUSSIONS, "Or a pull request; `--attach` is refused.")
def discussion_create(of: Context) -> None:
    name = _discussed(of)
    hf(f"discussions create {name} --title 'An idea' --pull-request")
    assert of.api.get_discussion_details(name, 2).is_pull_request
    image = of.new_folder({"image.png": b"image"}) / "image.png"
    fails(f"discussions create {name} --title A --attach {image}", "does not offer attachments")


@works("discussions list", DISCUSSIONS)
def discussion_list(of: Context) -> None:
    assert "A question" in hf(f"discussions list {_discussed(of)} --status all")


@works("discussions info", DISCUSSIONS)
def discussion_info(of: Context) -> None:
    name = _discussed(of)
    assert "Why?" in hf(f"discussions info {name} 1")
    fails(f"discussions info {name} 9", "404")


@works("discussions comment", DISCUSSIONS)
def discussion_comment(of: Context) -> None:
    name = _discussed(of)
    hf(f"discussions comment {name} 1 --body Because")
    assert "Because" in str(of.api.get_discussion_details(name, 1).events)


@works("discussions edit", DISCUSSIONS)
def discussion_edit(of: Context) -> None:
    name = _discussed(of)
    first = of.api.get_discussion_details(name, 1).events[0]
    hf(f"discussions edit {name} 1 {first.id} --body Wherefore")
    assert "Wherefore" in hf(f"discussions info {name} 1")


@works("discussions rename", DISCUSSIONS)
def discussion_rename(of: Context) -> None:
    name = _discussed(of)
    hf(f"discussions rename {name} 1 'Another question'")
    assert of.api.get_discussion_details(name, 1).title == "Another question"


@works("discussions close", DISCUSSIONS)
def discussion_close(of: Context) -> None:
    name = _discussed(of)
    hf(f"discussions close {name} 1 -y --comment Done")
    assert _status(of, name) == "closed"


@works("discussions reopen", DISCUSSIONS)
def discussion_reopen(of: Context) -> None:
    name = _discussed(of)
    hf(f"discussions close {name} 1 -y")
    hf(f"discussions reopen {name} 1 -y")
    assert _status(of, name) == "open"


def _requested(of: Context) -> str:
    name = of.repo({"a.txt": b"a\n"})
    hf(f"upload {name} {of.path(b'b')} b.txt --create-pr")
    return name


@works("discussions diff", DISCUSSIONS)
def discussion_diff(of: Context) -> None:
    assert "b.txt" in hf(f"discussions diff {_requested(of)} 1")


@works("discussions merge", DISCUSSIONS)
def discussion_merge(of: Context) -> None:
    name = _requested(of)
    hf(f"discussions merge {name} 1 -y")
    assert "b.txt" in of.api.list_repo_files(name)


def _webhook(of: Context) -> str:
    watched = [{"type": "user", "name": "alice"}]
    return str(of.api.create_webhook(url="https://example.org/hook", watched=watched).id)


@works("webhooks create", WEBHOOKS, "With `--url`; `--job-id` is refused.")
def webhooks_create(of: Context) -> None:
    name = of.repo()
    hf(f"webhooks create --url https://example.org/new --watch model:{name} --domain repo")
    assert "https://example.org/new" in {hook.url for hook in of.api.list_webhooks()}
    fails(f"webhooks create --job-id 1 --watch model:{name}", "runs no jobs")


@works("webhooks list", WEBHOOKS)
def webhooks_list(of: Context) -> None:
    assert _webhook(of) in hf("webhooks list --json")


@works("webhooks info", WEBHOOKS)
def webhooks_info(of: Context) -> None:
    assert "example.org/hook" in hf(f"webhooks info {_webhook(of)}")


@works("webhooks update", WEBHOOKS)
def webhooks_update(of: Context) -> None:
    number = _webhook(of)
    hf(f"webhooks update {number} --url https://example.org/b")
    assert of.api.get_webhook(number).url.endswith("/b")


@works("webhooks disable", WEBHOOKS)
def webhooks_disable(of: Context) -> None:
    number = _webhook(of)
    hf(f"webhooks disable {number}")
    assert of.api.get_webhook(number).disabled


@works("webhooks enable", WEBHOOKS)
def webhooks_enable(of: Context) -> None:
    number = _webhook(of)
    of.api.disable_webhook(number)
    hf(f"webhooks enable {number}")
    assert not of.api.get_webhook(number).disabled


@works("webhooks delete", WEBHOOKS)
def webhooks_delete(of: Context) -> None:
    number = _webhook(of)
    hf(f"webhooks delete {number} --yes")
    fails(f"webhooks info {number}", "404")
