"""Signatures of the hub, read by OpenSSF Model Signing's tool and DSSE's own library."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.tables import Build, MLModel
from tests.envelopes import payload_of
from tests.factories import tiny_onnx
from tests.hub.api.scene import tuned
from tests.programs import needs
from tests.validators.environments import run

pytestmark = [pytest.mark.slow, pytest.mark.django_db, needs("cryptography")]

# Prints the payload's type of an envelope that a key of a list has signed.
READER = """
import json, sys
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
envelope = Envelope.from_dict(json.load(open(sys.argv[1])))
pem = open(sys.argv[2]).read()
key = SSlibKey(sys.argv[3], "ecdsa", "ecdsa-sha2-nistp256", {"public": pem})
envelope.verify([key], 1)
print(envelope.payload_type)
"""


def saved(path: Path, content: Any) -> str:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


@pytest.fixture
def key(client: Client, data_dir: Path, tmp_path: Path, galaxy: MLModel) -> tuple[str, str]:
    """Id and PEM file of the hub's key, as published."""
    envelope = client.get("/.well-known/hpcfair-keys.json").json()
    keyid: str = payload_of(envelope)["current"]
    pem = client.get(f"/.well-known/hpcfair-keys/{keyid}.pem").content
    return keyid, saved(tmp_path / "key.pem", pem)


def test_model_signing_verifies_a_downloaded_version(
    client: Client, data_dir: Path, galaxy: MLModel, key: tuple[str, str], tmp_path: Path
) -> None:
    signature = saved(tmp_path / "model.sig", client.get("/lab/galaxy-cnn/model.sig").json())
    folder = tmp_path / "galaxy-cnn"
    folder.mkdir()
    for file in revision_get(galaxy).files.all():
        answer = client.get(f"/lab/galaxy-cnn/resolve/main/{file.path}")
        assert answer.status_code == 200, answer.headers
        (folder / file.path).write_bytes(answer.getvalue())
    arguments = ("verify", "key", str(folder), "--signature", signature, "--public_key", key[1])
    run("signatures", "model_signing", *arguments)
    (folder / "model.onnx").write_bytes(tiny_onnx(scale=3))
    with pytest.raises(AssertionError):
        run("signatures", "model_signing", *arguments)
    (folder / "model.onnx").unlink()
    with pytest.raises(AssertionError):
        run("signatures", "model_signing", *arguments)


def test_securesystemslib_verifies_envelopes(
    client: Client, data_dir: Path, galaxy: MLModel, key: tuple[str, str], tmp_path: Path
) -> None:
    scene = tuned(galaxy)
    keyid, pem = key
    for number, address in enumerate(
        (
            f"/api/v1/builds/{scene.fast.uuid}/attestation",
            f"/api/v1/records/{scene.record.pk}/attestation",
            "/.well-known/hpcfair-keys.json",
        )
    ):
        envelope = client.get(address).json()
        file = saved(tmp_path / f"{number}.json", envelope)
        kind = run("signatures", "python", "-c", READER, file, pem, keyid).strip()
        assert kind == envelope["payloadType"]
        envelope["signatures"][0]["sig"] = envelope["signatures"][0]["sig"].swapcase()
        with pytest.raises(AssertionError):
            run("signatures", "python", "-c", READER, saved(Path(file), envelope), pem, keyid)
    assert Build.objects.exclude(envelope=None).count() == 2
