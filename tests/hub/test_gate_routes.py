"""Whatever hands out the content of files asks the gate first; what says they exist does not."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.http.response import HttpResponseBase
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.discussion.discussion import pull_request_open
from registry.services.repository.gate import access_grant, access_handle, access_request
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import RequestState
from registry.tables import Build, BuildFile, Graph, MLModel, TestTensor, User
from tests.factories import commit_files, make_mlmodel, make_token, member, readme, store
from tests.registry.test_access import full_floor

MARKER = b"only for those who were let in"
NAME = "owner/net"


@pytest.fixture
def gated(db: None, bob: User, data_dir: Any) -> MLModel:
    """A model with a build, a marked text, and a pull request that changes it."""
    full_floor("owner/other", private=False)
    text = b"%s\n" % MARKER
    mlmodel = make_mlmodel(NAME, files={"README.md": readme("# Shown to all\n"), "notes.txt": text})
    commit_files(mlmodel, {"notes.bin": text + b"\0" * 64})
    Graph.objects.update(revision=revision_get(mlmodel))
    BuildFile.objects.update(path="notes.txt", blob=store(MARKER))
    TestTensor.objects.update(blob=store(MARKER))
    pull_request_open(actor=bob, mlmodel=mlmodel, title="Better", description="")
    commit_files(mlmodel, {"notes.txt": text + b"changed\n"}, branch="refs/pr/1")
    return mlmodel_update(actor=None, mlmodel=mlmodel, gate="manual")


def content(response: HttpResponseBase) -> bytes:
    return b"".join(response)  # type: ignore[arg-type]


def contents(
    client: Client, mlmodel: MLModel, headers: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Address to answer of everything that hands out files' content."""
    head = revision_get(mlmodel).oid
    build = Build.objects.get().uuid
    for address in (
        f"/{NAME}/raw/main/notes.txt",
        f"/{NAME}/blob/main/notes.txt",
        f"/{NAME}/commit/{revision_get(mlmodel, 'refs/pr/1').oid}",
        f"/{NAME}/discussions/1/changes",
        f"/{NAME}/resolve/main/notes.txt",
        f"/{NAME}/resolve/{head}/notes.bin",
        f"/{NAME}/resolve/refs%2Fpr%2F1/notes.txt",
        f"/{NAME}/crate",
        f"/{NAME}/crate?revision={head}",
        f"/api/models/{NAME}/discussions/1?diff=1",
        f"/api/v1/models/{NAME}/files/notes.txt",
        f"/api/v1/models/{NAME}/files/notes.txt?revision={head}",
        f"/api/v1/builds/{build}/files/notes.txt",
        f"/{NAME}/tests/{head}/test_data_set_0/input_0.pb",
    ):
        yield address, content(client.get(address, headers=headers))
    yield from by_lfs(client, mlmodel, headers)
    yield from by_git(client, head, headers)


def by_lfs(
    client: Client, mlmodel: MLModel, headers: dict[str, str]
) -> Iterator[tuple[str, bytes]]:
    file = revision_get(mlmodel).files.select_related("blob").get(path="notes.bin")
    asked = {
        "operation": "download",
        "transfers": ["basic"],
        "objects": [{"oid": file.blob_id, "size": file.blob.size_bytes}],
    }
    batch = client.post(
        f"/{NAME}.git/info/lfs/objects/batch",
        json.dumps(asked),
        content_type="application/vnd.git-lfs+json",
        headers=headers,
    )
    answer = json.loads(batch.content)
    actions = [row.get("actions", {}) for row in answer.get("objects", [])]
    links = [action["download"]["href"] for action in actions if "download" in action]
    fetched = [content(client.get("/" + link.split("/", 3)[3])) for link in links]
    yield "lfs", b"".join(fetched)


def by_git(client: Client, head: str, headers: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    given = headers | ({"Git-Protocol": "version=2"})
    if "Authorization" in headers:
        secret = headers["Authorization"].removeprefix("Bearer ")
        given["Authorization"] = "Basic " + base64.b64encode(f"x:{secret}".encode()).decode()
    lines = ["command=fetch", "0001", f"want {head}\n", "done\n"]
    wanted = "".join(x if x == "0001" else f"{len(x) + 4:04x}{x}" for x in lines) + "0000"
    answer = client.post(
        f"/{NAME}.git/git-upload-pack",
        wanted,
        content_type="application/x-git-upload-pack-request",
        headers=given,
    )
    # Packed, so the marker cannot be seen; that a pack came at all is enough.
    yield "git", MARKER if b"PACK" in content(answer) else b""


def ways(user: User | None) -> list[tuple[Client, dict[str, str]]]:
    """As a browser with a session and as a program with a token."""
    browser, program = Client(raise_request_exception=True), Client()
    if user is None:
        return [(browser, {})]
    browser.force_login(user)
    return [(browser, {}), (program, {"Authorization": f"Bearer {make_token(user)}"})]


def test_content_reaches_those_who_were_let_in_and_nobody_else(
    gated: MLModel, alice: User, bob: User, charlie: User
) -> None:
    owner = member("owner")
    request = access_request(actor=alice, mlmodel=gated)
    access_handle(actor=owner, request=request, state=RequestState.REJECTED)
    access_grant(actor=owner, mlmodel=gated, user=charlie)
    leaks, lacks = [], []
    for user, let_in in (
        (None, False),
        (alice, False),
        (bob, False),
        (charlie, True),
        (owner, True),
    ):
        seen: set[str] = set()
        for client, headers in ways(user):
            for address, data in contents(client, gated, headers):
                if MARKER in data:
                    seen.add(address)
                    if not let_in:
                        leaks.append((user, address))
        if let_in:
            lacks += [
                (user, address)
                for address, _ in contents(Client(), gated, {})
                if address not in seen
            ]
    assert leaks == []
    assert lacks == []


def test_what_is_there_and_what_the_card_says_is_for_everybody(gated: MLModel) -> None:
    client = Client()
    for address in (
        f"/{NAME}",
        f"/{NAME}/tree/main",
        f"/{NAME}/builds",
        f"/api/models/{NAME}",
        f"/api/models/{NAME}/tree/main",
        f"/api/v1/models/{NAME}",
        f"/api/v1/models/{NAME}/graph",
        f"/api/v1/models/{NAME}/builds",
    ):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert MARKER not in content(answer)
    assert b"Shown to all" in content(client.get(f"/{NAME}"))


def test_gated_files_are_kept_by_no_shared_cache(gated: MLModel) -> None:
    client, head = Client(), revision_get(gated).oid
    client.force_login(member("owner"))
    for address in (
        f"/{NAME}/raw/{head}/notes.txt",
        f"/{NAME}/resolve/{head}/notes.txt",
        f"/api/v1/models/{NAME}/files/notes.txt?revision={head}",
    ):
        assert "public" not in client.head(address).headers["Cache-Control"], address
