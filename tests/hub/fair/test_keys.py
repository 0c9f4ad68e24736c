"""The hub's keys and signatures on the web."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from registry.services.repository.mlmodel import mlmodel_update
from registry.services.trust.key import key_revoke, key_rotate
from registry.tables import HubKey, MLModel
from tests.envelopes import payload_of
from tests.hub.api.scene import Scene, tuned
from tests.programs import needs

pytestmark = pytest.mark.django_db

LIST = "/.well-known/hpcfair-keys.json"


@pytest.fixture
def scene(data_dir: Path, galaxy: MLModel) -> Scene:
    return tuned(galaxy)


@needs("cryptography")
def test_the_keys_are_listed_with_their_validity(client: Client, scene: Scene) -> None:
    old = HubKey.objects.get()
    new = key_rotate()
    key_revoke(keyid=old.keyid, reason="old laptop")
    answer = client.get(LIST)
    assert answer.headers["Cache-Control"] == "no-store"
    stated = payload_of(answer.json())
    assert stated["current"] == new.keyid
    newest, first = stated["keys"]
    assert (newest["valid_until"], newest["revoked_at"]) == (None, None)
    assert (first["reason"], bool(first["revoked_at"])) == ("old laptop", True)
    listed = client.get("/api/v1/keys").json()["items"]
    assert [key["keyid"] for key in listed] == [new.keyid, old.keyid]
    pem = client.get(f"/.well-known/hpcfair-keys/{new.keyid}.pem")
    assert pem.getvalue().decode() == new.public_pem
    assert client.get(f"/.well-known/hpcfair-keys/{'0' * 64}.pem").status_code == 404


@needs("cryptography")
def test_a_build_shows_who_signed_it_and_when(client: Client, scene: Scene) -> None:
    page = client.get(f"/builds/{scene.fast.uuid}").content.decode()
    key = HubKey.objects.get()
    assert f"/.well-known/hpcfair-keys/{key.keyid}.pem" in page
    assert f"hpcfair verify {scene.name}" in page
    key_revoke(keyid=key.keyid, reason="stolen")
    assert "not yet" in client.get(f"/builds/{scene.fast.uuid}").content.decode()


@needs("cryptography")
def test_signatures_of_a_private_model_are_for_its_readers(
    client: Client, scene: Scene, charlie: Any
) -> None:
    mlmodel_update(actor=charlie, mlmodel=scene.mlmodel, visibility="private")
    addresses = (
        f"/api/v1/builds/{scene.fast.uuid}/attestation",
        f"/api/v1/records/{scene.record.pk}/attestation",
        f"/{scene.name}/model.sig",
    )
    assert {client.get(address).status_code for address in addresses} <= {401, 404}
    client.force_login(charlie)
    assert {client.get(address).status_code for address in addresses} == {200}


def test_a_hub_without_a_usable_key_says_so(
    client: Client, data_dir: Path, galaxy: MLModel, settings: Any
) -> None:
    settings.SIGNING_KEY_GIVEN = "no key"
    scene = tuned(galaxy)
    for address in (LIST, f"/{scene.name}/model.sig"):
        assert client.get(address).status_code == 503
    answer = client.get(f"/api/v1/builds/{scene.fast.uuid}/attestation")
    assert (answer.status_code, answer.json()["code"]) == (404, "attestation_not_found")
