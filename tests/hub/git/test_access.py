"""Who may clone, and what git is told otherwise."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.repository.gate import access_grant
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Scope
from registry.tables import MLModel, Namespace, User
from tests.factories import make_mlmodel, make_token
from tests.hub.git.conftest import Git
from tests.programs import needs

AddressOf = Callable[..., str]

INFO = "info/refs?service=git-upload-pack"
live = pytest.mark.django_db(transaction=True)


@needs("git")
@live
@pytest.mark.slow
def test_a_private_repository_needs_a_token_of_somebody_who_may(
    git: Git, address_of: AddressOf, secret: MLModel, charlie: User, bob: User, lab: Namespace
) -> None:
    git.clone(address_of(secret, charlie), "copy")
    anonymous = git.run("clone", address_of(secret), "none")
    assert "could not read Password" in anonymous.stderr or "Authentication" in anonymous.stderr
    assert (
        "Authentication failed" in git.run("clone", address_of(secret, token="hpf_x"), "n").stderr
    )
    assert "not found" in git.run("clone", address_of(secret, bob), "none").stderr
    elsewhere = make_mlmodel("charlie/other", actor=charlie).namespace
    token = make_token(charlie, Scope.READ, namespace=elsewhere)
    assert "not found" in git.run("clone", address_of(secret, token=token), "none").stderr
    assert not list(Path(git.home).glob("none"))


@needs("git")
@live
@pytest.mark.slow
def test_pushing_is_refused_and_says_what_to_do_instead(
    git: Git, address_of: AddressOf, galaxy: MLModel, charlie: User
) -> None:
    folder = git.clone(address_of(galaxy, charlie), "copy")
    git("-c", "user.name=C", "-c", "user.email=c@x", "commit", "--allow-empty", "-qm", "x",
        folder=folder)  # fmt: skip
    done = git.run("push", folder=folder)
    assert done.returncode != 0
    assert "hf upload" in done.stderr


@pytest.mark.django_db
def test_missing_and_private_look_alike_to_the_unknown(
    client: Client, data_dir: Path, secret: MLModel
) -> None:
    answers = [client.get(f"/lab/{name}/{INFO}") for name in ("secret", "secret.git", "nothing")]
    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {
        'Basic realm="HPCFair", charset="UTF-8"'
    }
    assert len({answer.content for answer in answers}) == 1
    assert client.get(f"/datasets/lab/secret/{INFO}").status_code == 401
    assert client.post("/lab/secret/git-upload-pack").status_code == 401


@pytest.mark.django_db
def test_files_behind_a_gate_are_for_whom_it_opened(
    client: Client, data_dir: Path, galaxy: MLModel, charlie: User, bob: User
) -> None:
    mlmodel_update(actor=charlie, mlmodel=galaxy, gate="manual")
    address = f"/lab/galaxy-cnn/{INFO}"
    asked = {"Authorization": f"Bearer {make_token(bob, Scope.READ)}"}
    assert client.get(address).status_code == 401
    refused = client.get(address, headers=asked)
    assert refused.status_code == 403
    assert b"is restricted" in refused.content
    access_grant(actor=charlie, mlmodel=galaxy, user=bob)
    assert client.get(address, headers=asked).status_code == 200


@pytest.mark.django_db
def test_other_services_and_methods_are_refused(
    client: Client, data_dir: Path, galaxy: MLModel
) -> None:
    for question in ("", "?service=", "?service=git-archive", "?service=git-receive-pack"):
        assert client.get(f"/lab/galaxy-cnn/info/refs{question}").status_code == 403
    assert client.post("/lab/galaxy-cnn/git-receive-pack").status_code == 403
    assert client.get("/lab/galaxy-cnn/git-upload-pack").status_code == 405
    assert client.post(f"/lab/galaxy-cnn/{INFO}").status_code == 405


def line(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def ask(client: Client, body: bytes, **headers: str) -> tuple[int, bytes]:
    answer = client.post(
        "/lab/galaxy-cnn/git-upload-pack",
        body,
        content_type="application/x-git-upload-pack-request",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
    return answer.status_code, answer.getvalue()


@pytest.mark.django_db
def test_malformed_requests_are_refused(client: Client, data_dir: Path, galaxy: MLModel) -> None:
    head = revision_get(galaxy).oid
    for body in (
        b"nonsense",
        b"-001",
        b"ffff" + b"x" * 10,
        line("want " + "g" * 40),
        line(f"want {head}\n") + line("deepen -1\n"),
        line(f"want {head}\n") + line("deepen 99999999999999999999\n"),
        line(f"want {head}\n") + line("filter blob:none\n"),
        line(f"want {head}\n") + b"0000" + line("have short\n"),
        line(f"want {head}\n") + b"0005\xff",
    ):
        assert ask(client, body)[0] == 400, body
        assert ask(client, body, Git_Protocol="version=2")[0] == 400, body
    zipped = gzip.compress(line("command=ls-refs") + b"0001" + b"0000")
    ok, names = ask(client, zipped, Git_Protocol="version=2", Content_Encoding="gzip")
    assert (ok, names.startswith(b"0032" + head.encode() + b" HEAD")) == (200, True)
    for body in (b"no gzip", zipped[:-9], b""):
        assert ask(client, body, Content_Encoding="gzip")[0] == 400
    bomb = gzip.compress(bytes(200 << 20), compresslevel=1)
    assert ask(client, bomb, Content_Encoding="gzip")[0] == 413
    assert ask(client, b"0000") == (200, b"")
