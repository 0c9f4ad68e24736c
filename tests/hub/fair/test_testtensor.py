"""Test tensors over HTTP: the bytes that prove a model, for whoever may fetch its files."""

import base64
import hashlib
from typing import Any

import pytest
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.fair.identifier import identifiers_retire
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.states import RepositoryKind, TensorSide
from registry.tables import MLModel, Revision, TestTensor, User
from tests.factories import make_mlmodel, make_token, store
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

DATA = b"a serialised TensorProto, or so"
PATH = "test_data_set_0/input_0.pb"


def address(mlmodel: MLModel, path: str = PATH) -> str:
    """Where a test tensor of the newest version is, after giving it one if it has none."""
    revision = revision_get(mlmodel)
    if not revision.graphs.exists():
        TestTensor.objects.create(
            graph=shopfloor.make_graph(revision),
            number=0,
            side=TensorSide.INPUT,
            index=0,
            name="x",
            blob=store(DATA),
            is_made=True,
        )
    return f"/{mlmodel.full_name}/tests/{revision.oid}/{path}"


def read(answer: Any) -> bytes:
    return b"".join(answer) if answer.streaming else bytes(answer.content)


def test_a_stranger_fetches_a_tensor_and_can_verify_it(client: Client, galaxy: MLModel) -> None:
    answer = client.get(address(galaxy))
    assert (answer.status_code, read(answer)) == (200, DATA)
    digest = hashlib.sha256(DATA)
    assert answer["ETag"] == f'"{digest.hexdigest()}"'
    assert answer["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert 'rel="collection"' in answer["Link"]


def test_part_of_it_and_none_of_it_can_be_asked_for(client: Client, galaxy: MLModel) -> None:
    part = client.get(address(galaxy), headers={"Range": "bytes=2-11"})
    assert (part.status_code, read(part)) == (206, DATA[2:12])
    head = client.head(address(galaxy))
    assert (head.status_code, head["Content-Length"]) == (200, str(len(DATA)))
    known = client.get(address(galaxy), headers={"If-None-Match": head["ETag"]})
    assert known.status_code == 304
    assert client.post(address(galaxy)).status_code == 405


def test_what_is_no_test_tensor_is_not_there(client: Client, galaxy: MLModel) -> None:
    for path in ("test_data_set_0/input_1.pb", "test_data_set_1/input_0.pb", "model.onnx", "a%00b"):
        assert client.get(address(galaxy, path)).status_code == 404, path


def test_a_version_that_is_not_there_has_none(client: Client, galaxy: MLModel) -> None:
    address(galaxy)
    assert client.get(f"/{galaxy.full_name}/tests/{'0' * 40}/{PATH}").status_code == 404
    assert client.get(f"/lab/none/tests/{'0' * 40}/{PATH}").status_code == 404


def test_of_what_was_withdrawn_the_record_is_left(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    place = address(galaxy)
    mlmodel_delete(actor=charlie, mlmodel=galaxy, reason="Labels were wrong.")
    answer = client.get(place)
    assert answer.status_code == 410
    assert "Labels were wrong." in answer.content.decode()
    record = client.get(place, headers={"Accept": "application/ld+json"})
    assert record.status_code == 410
    assert record["Content-Type"].startswith("application/ld+json")


def test_a_version_that_was_rewritten_says_so(client: Client, galaxy: MLModel) -> None:
    place, revision = address(galaxy), revision_get(galaxy)
    identifiers_retire(galaxy, [revision], reason="It held a secret.")
    Revision.objects.filter(pk=revision.pk).update(oid="f" * 40)
    answer = client.get(place)
    assert answer.status_code == 410
    assert "It held a secret." in answer.content.decode()


def test_a_private_models_tensors_are_its_members_alone(
    client: Client, secret: MLModel, alice: User, charlie: User
) -> None:
    place = address(secret)
    client.force_login(alice)
    assert client.get(place).status_code == 404
    token = {"Authorization": f"Bearer {make_token(charlie)}"}
    answer = client.get(place, headers=token)
    assert (answer.status_code, read(answer)) == (200, DATA)
    assert answer["Cache-Control"].startswith("private")


def test_a_gate_holds_for_tensors_as_for_files(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    place = address(galaxy)
    mlmodel_update(actor=charlie, mlmodel=galaxy, gate="manual")
    refused = client.get(place)
    assert refused.status_code == 401
    assert "access_gated" in refused.content.decode()
    client.force_login(charlie)
    answer = client.get(place)
    assert read(answer) == DATA


def test_who_comes_by_an_old_name_is_led_on(client: Client, galaxy: MLModel, charlie: User) -> None:
    old = address(galaxy)
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="lab", name="stars")
    answer = client.get(old, follow=True)
    assert answer.redirect_chain[0][0] == old.replace("galaxy-cnn", "stars")
    assert read(answer) == DATA


def test_a_data_set_may_be_called_tests(client: Client, alice: User) -> None:
    data = make_mlmodel(
        "alice/tests", actor=alice, files={"a.csv": "1\n"}, kind=RepositoryKind.DATASET
    )
    oid = revision_get(data).oid
    assert client.get(f"/datasets/alice/tests/blob/{oid}/a.csv").status_code == 200
    assert client.get(f"/datasets/alice/tests/tree/{oid}").status_code == 200
