"""A version with all its files as one ZIP, judged by RO-Crate's official validator."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import Client

from registry.fair.crate.rocrate import DESCRIPTOR
from registry.fair.score.served import links_in
from registry.selectors.repository.revision import revision_get
from registry.services.repository.gate import access_grant
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate, Scope
from registry.storage import blob_store
from registry.tables import MLModel, User
from tests.factories import commit_files, make_token
from tests.hub.fair.records import FILES, make_record
from tests.validators.environments import run

pytestmark = pytest.mark.django_db
PAGE = "/lab/galaxy-net"
_JUDGE = Path(__file__).resolve().parents[2] / "validators/rocrate_check.py"


@pytest.fixture
def record(charlie: User, lab: object, data_dir: Path) -> MLModel:
    return make_record(charlie)


def fetched(client: Client, path: str, **headers: str) -> zipfile.ZipFile:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    assert answer.streaming
    data = b"".join(answer)
    assert answer.headers["Content-Length"] == str(len(data))
    return zipfile.ZipFile(io.BytesIO(data))


def test_a_crate_holds_every_file_as_it_is_and_says_what_it_is(
    client: Client, record: MLModel
) -> None:
    archive = fetched(client, f"{PAGE}/crate")
    assert archive.testzip() is None
    assert archive.namelist()[0] == DESCRIPTOR
    for path, content in FILES.items():
        wanted = content.encode() if isinstance(content, str) else content
        assert archive.read(path) == wanted, path
    rows = revision_get(record).files
    assert set(archive.namelist()) == {DESCRIPTOR, *rows.values_list("path", flat=True)}
    told = {one["@id"]: one for one in json.loads(archive.read(DESCRIPTOR))["@graph"]}
    for path in archive.namelist()[1:]:
        described = next(one for key, one in told.items() if unquote(key) == path)
        content = archive.read(path)
        assert described["sha256"] == hashlib.sha256(content).hexdigest()
        assert described["contentSize"] == str(len(content))


@pytest.mark.slow
def test_the_official_validator_finds_nothing_to_mend_in_it(
    client: Client, record: MLModel, settings: Any, tmp_path: Path
) -> None:
    settings.PUBLISHER_ROR = "https://ror.org/05dxps055"
    fetched(client, f"{PAGE}/crate").extractall(tmp_path)
    found = json.loads(run("rocrate", "python", str(_JUDGE), str(tmp_path)).splitlines()[-1])
    assert found == {str(tmp_path): []}


def test_who_asks_for_its_head_learns_its_length_and_what_it_belongs_to(
    client: Client, record: MLModel
) -> None:
    oid = revision_get(record).oid
    head = client.head(f"{PAGE}/crate?revision={oid}")
    body = client.get(f"{PAGE}/crate?revision={oid}")
    assert head.headers["Content-Length"] == str(sum(map(len, body)))
    assert head.content == b""
    for answer in (head, body):
        assert answer.headers["Content-Type"] == "application/zip"
        assert 'filename="galaxy-net-2.1.0.crate.zip"' in answer.headers["Content-Disposition"]
        rels = {one.rel: one.target for one in links_in(answer.headers["Link"], PAGE)}
        assert rels["collection"].endswith(f"{PAGE}?revision={oid}")
        assert rels["profile"] == "https://w3id.org/ro/crate"


def test_a_transfer_that_broke_off_goes_on(client: Client, record: MLModel) -> None:
    answer = client.get(f"{PAGE}/crate")
    data = b"".join(answer)
    tag = answer.headers["ETag"]
    assert answer.headers["Accept-Ranges"] == "bytes"
    rest = client.get(f"{PAGE}/crate", headers={"Range": "bytes=1000-", "If-Range": tag})
    assert (rest.status_code, b"".join(rest)) == (206, data[1000:])
    assert rest.headers["Content-Range"] == f"bytes 1000-{len(data) - 1}/{len(data)}"
    assert rest.headers["ETag"] == tag
    last = client.get(f"{PAGE}/crate", headers={"Range": "bytes=-22"})
    assert b"".join(last) == data[-22:]
    assert client.get(f"{PAGE}/crate", headers={"Range": f"bytes={len(data)}-"}).status_code == 416
    for name, value in {"If-None-Match": tag, "If-Match": '"another"'}.items():
        early = client.get(f"{PAGE}/crate", headers={name: value})
        assert (early.status_code, early.content) == (412 if name == "If-Match" else 304, b"")
    record.refresh_from_db()
    assert record.downloads == 1


def test_what_is_told_of_a_version_anew_is_another_crate(
    client: Client, record: MLModel, settings: Any
) -> None:
    tag = client.head(f"{PAGE}/crate").headers["ETag"]
    settings.PUBLISHER = "Somebody else"
    again = client.get(f"{PAGE}/crate", headers={"Range": "bytes=9-", "If-Range": tag})
    assert (again.status_code, again.headers["ETag"] != tag) == (200, True)
    assert zipfile.ZipFile(io.BytesIO(b"".join(again))).testzip() is None


def test_a_file_of_the_name_of_the_metadata_is_left_at_its_address(
    client: Client, record: MLModel, charlie: User
) -> None:
    commit_files(record, {DESCRIPTOR: '{"mine": true}\n'}, actor=charlie)
    archive = fetched(client, f"{PAGE}/crate")
    assert archive.namelist().count(DESCRIPTOR) == 1
    told = json.loads(archive.read(DESCRIPTOR))
    assert "mine" not in told
    assert any(one["@id"].endswith(f"/{DESCRIPTOR}") for one in told["@graph"])


def test_a_gate_stands_before_the_crate_and_not_before_its_metadata(
    client: Client, record: MLModel, charlie: User, alice: User
) -> None:
    mlmodel_update(actor=charlie, mlmodel=record, gate=Gate.MANUAL)
    assert client.get(f"{PAGE}/crate").status_code == 401
    assert client.head(f"{PAGE}/crate").status_code == 401
    token = f"Bearer {make_token(alice, Scope.READ)}"
    assert client.get(f"{PAGE}/crate", headers={"Authorization": token}).status_code == 403
    assert client.get(f"{PAGE}/metadata/rocrate").status_code == 200
    access_grant(actor=charlie, mlmodel=record, user=alice)
    assert fetched(client, f"{PAGE}/crate", Authorization=token).testzip() is None
    page = client.get(f"{PAGE}/cite").content.decode()
    assert "All files with metadata" not in page
    assert "Metadata in 16 formats" in page


def test_of_what_is_private_there_is_no_crate_for_strangers(
    client: Client, secret: MLModel, charlie: User
) -> None:
    assert client.get("/lab/secret/crate").status_code == 404
    client.force_login(charlie)
    answer = client.get("/lab/secret/crate")
    assert "public" not in answer.headers["Cache-Control"]
    assert b"".join(answer)


def test_a_whole_crate_counts_as_one_download(client: Client, record: MLModel) -> None:
    client.head(f"{PAGE}/crate")
    answer = client.get(f"{PAGE}/crate")
    assert b"".join(answer)
    record.refresh_from_db()
    assert record.downloads == 1


def test_bytes_that_are_lost_cut_the_answer_short(client: Client, record: MLModel) -> None:
    row = revision_get(record).files.get(path="data/large.bin")
    path = blob_store().path(row.blob_id)
    assert path is not None
    path.unlink()
    answer = client.get(f"{PAGE}/crate")
    # The length was promised: no client takes what came for the whole.
    with pytest.raises(Exception, match=row.blob_id):
        b"".join(answer)
