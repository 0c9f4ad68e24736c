"""What answers tell of a file beside its bytes: type, digest, record; what is open to all."""

import base64
import hashlib

import httpx
import pytest

from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate
from registry.tables import Namespace, User
from tests.factories import make_mlmodel

pytestmark = pytest.mark.django_db(transaction=True)

BYTES = bytes(range(256)) * 8


def test_type_digest_and_record_are_told_of_every_file_and_of_its_parts(
    hub_url: str, lab: Namespace, charlie: User
) -> None:
    told: dict[str, tuple[str, bytes]] = {
        "README.md": ("text/markdown; charset=utf-8", b"# Typed\n"),
        "config.json": ("application/json", b"{}"),
        "data/table.csv": ("text/csv; charset=utf-8", b"a,b\n"),
        "page.html": ("application/octet-stream", b"<script>alert(1)</script>"),
        "drawing.svg": ("application/octet-stream", b"<svg onload='alert(1)'/>"),
        "model.onnx": ("application/octet-stream", BYTES),
    }
    contents = {path: data for path, (_, data) in told.items()}
    oid = revision_get(make_mlmodel("lab/typed", actor=charlie, files=contents)).oid
    for path, (kind, data) in told.items():
        digest = f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"
        for place in (f"resolve/main/{path}", f"resolve/{oid}/{path}", f"raw/main/{path}"):
            address = f"{hub_url}/lab/typed/{place}"
            head = httpx.head(address)
            known = {"If-None-Match": head.headers["ETag"]}
            part = httpx.get(address, headers={"Range": "bytes=1-1"})
            for answer in (head, part, httpx.get(address, headers=known)):
                assert answer.headers["Content-Type"] == kind
                assert answer.headers["Repr-Digest"] == digest
                assert answer.links["collection"]["url"] == f"{hub_url}/lab/typed?revision={oid}"
            assert head.headers["Content-Length"] == str(len(data))
            assert part.content == data[1:2]


def test_what_is_not_sent_has_no_digest(hub_url: str, lab: Namespace, charlie: User) -> None:
    make_mlmodel("lab/typed", actor=charlie, files={"a.bin": BYTES})
    address = f"{hub_url}/lab/typed/resolve/main/a.bin"
    behind = httpx.get(address, headers={"Range": "bytes=9999-"})
    assert behind.status_code == 416
    assert "Repr-Digest" not in behind.headers
    assert "Repr-Digest" not in httpx.get(f"{hub_url}/lab/typed/resolve/main/none").headers


def test_card_and_license_stay_open_when_the_other_files_are_to_be_asked_for(
    hub_url: str, lab: Namespace, charlie: User
) -> None:
    files = {"README.md": b"# Open\n", "LICENSE": b"Terms\n", "a.bin": BYTES}
    mlmodel = make_mlmodel("lab/gated", actor=charlie, files=files)
    mlmodel_update(actor=charlie, mlmodel=mlmodel, gate=Gate.MANUAL)
    with httpx.Client(base_url=f"{hub_url}/lab/gated/resolve/main/") as web:
        card, shut = web.get("README.md"), web.get("a.bin")
        assert (card.status_code, card.text) == (200, "# Open\n")
        assert "Repr-Digest" in card.headers
        assert web.get("LICENSE").status_code == 200
    assert shut.status_code == 401
    assert "Repr-Digest" not in shut.headers
