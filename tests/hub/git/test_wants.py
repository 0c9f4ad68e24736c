"""Wants for objects that a client must not get, in protocols 0, 1 and 2."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.discussion.discussion import pull_request_open
from registry.tables import MLModel, User
from tests.factories import make_mlmodel

pytestmark = pytest.mark.django_db

CAPABILITIES = " multi_ack_detailed no-done side-band-64k shallow"


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def requests(oid: str, head: str) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Ways to ask for ``oid``: protocol, limits of the history, beside an honest want or alone."""
    limits = ("", "deepen 1", "deepen 2147483647", "deepen-since 1", f"shallow {head}")
    for limit, beside, have in product(limits, (False, True), ("", f"have {oid}", f"have {head}")):
        wants = [head, oid] if beside else [oid]
        lines = [packet(f"want {want}\n") for want in wants]
        first = packet(f"want {wants[0]}{CAPABILITIES}\n")
        more = packet(f"{limit}\n") if limit else b""
        request = packet(f"{have}\n") if have else b""
        done = packet("done\n")
        for protocol in ("version=0", "version=1"):
            body = first + b"".join(lines[1:]) + more + b"0000" + request + done
            yield protocol, body, {"Git-Protocol": protocol}
        body = packet("command=fetch") + b"0001" + b"".join(lines) + more + request + done + b"0000"
        yield "version=2", body, {"Git-Protocol": "version=2"}


def attempts(client: Client, name: str, oid: str, head: str) -> int:
    """Ask in every way; returns their number. Fails where anything but a refusal comes back."""
    count = 0
    for protocol, body, headers in requests(oid, head):
        answer = client.post(
            f"/{name}/git-upload-pack",
            body,
            content_type="application/x-git-upload-pack-request",
            headers=headers,
        )
        content = answer.getvalue()
        assert answer.status_code == 200
        assert b"ERR upload-pack: not our ref" in content, (protocol, body)
        assert b"PACK" not in content
        count += 1
    return count


def test_objects_that_are_no_commits_of_the_repository_are_not_sent(
    client: Client,
    data_dir: object,
    galaxy: MLModel,
    secret: MLModel,
    charlie: User,
    settings: Any,
) -> None:
    settings.THROTTLE = False
    head = revision_get(galaxy).oid
    private = revision_get(secret)
    # First commits of one person and second are the same object.
    stranger = make_mlmodel("charlie/other", actor=charlie, files={"other.txt": b"other"})
    file = revision_get(galaxy).files.get(path="model.onnx")
    wants = {
        "a commit of a private repository": private.oid,
        "a tree of a private repository": private.tree_oid,
        "a file of a private repository": private.files.get(path="model.onnx").oid,
        "a commit of another public repository": revision_get(stranger).oid,
        "a tree of its own": revision_get(galaxy).tree_oid,
        "a file of its own": file.oid,
        "nothing": "0" * 40,
    }
    tried = sum(attempts(client, "lab/galaxy-cnn", oid, head) for oid in wants.values())
    assert tried == len(wants) * 90


def test_references_of_a_private_repository_are_not_listed(
    client: Client, data_dir: object, galaxy: MLModel, secret: MLModel, bob: User
) -> None:
    pull = pull_request_open(actor=bob, mlmodel=galaxy, title="Better", description="")
    listing = packet("command=ls-refs") + b"0001" + packet("ref-prefix refs/") + b"0000"
    for name in ("lab/secret", "lab/secret.git"):
        for body in (listing, packet(f"want {revision_get(secret).oid}\n") + b"0000"):
            for protocol in ("version=0", "version=1", "version=2"):
                answer = client.post(
                    f"/{name}/git-upload-pack",
                    body,
                    content_type="application/x-git-upload-pack-request",
                    headers={"Git-Protocol": protocol},
                )
                assert answer.status_code == 401
                assert revision_get(secret).oid.encode() not in answer.content
    assert pull.num


def test_filters_are_refused(client: Client, data_dir: object, galaxy: MLModel) -> None:
    head = revision_get(galaxy).oid
    filters = ("blob:none", "tree:0", "blob:limit=1", f"sparse:oid={head}", "combine:a+b")
    for spec, protocol in product(filters, ("version=0", "version=1", "version=2")):
        lines = packet(f"want {head}\n") + packet(f"filter {spec}\n")
        body = lines + b"0000" + packet("done\n")
        if protocol == "version=2":
            body = packet("command=fetch") + b"0001" + lines + packet("done\n") + b"0000"
        answer = client.post(
            "/lab/galaxy-cnn/git-upload-pack",
            body,
            content_type="application/x-git-upload-pack-request",
            headers={"Git-Protocol": protocol},
        )
        assert answer.status_code == 400
