"""Builds and records are signed when they are published, and again when what they state changes."""

import base64
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import CommandError, call_command
from django.db import connection

from registry.attestations.envelope import encoding
from registry.attestations.keys import SigningUnavailable, new_pem, read_key
from registry.selectors.trust.key import signed_key_list
from registry.services.repository.mlmodel import mlmodel_move
from registry.services.trust.attestation import sign_pending
from registry.services.trust.key import current_key, key_revoke, key_rotate
from registry.tables import Build, HubKey, MLModel, Record
from tests.envelopes import payload_of
from tests.hub.api.scene import Scene, tuned
from tests.programs import needs

pytestmark = [pytest.mark.django_db, needs("cryptography")]


@pytest.fixture
def scene(data_dir: Path, galaxy: MLModel) -> Scene:
    return tuned(galaxy)


def is_valid(envelope: dict[str, Any], key: HubKey) -> bool:
    """Whether a library of others accepts the signature."""
    (signature,) = [s for s in envelope["signatures"] if s["keyid"] == key.keyid]
    data = encoding(base64.b64decode(envelope["payload"]), envelope["payloadType"])
    public = serialization.load_pem_public_key(key.public_pem.encode())
    try:
        public.verify(base64.b64decode(signature["sig"]), data, ec.ECDSA(hashes.SHA256()))
    except Exception:  # noqa: BLE001  any failure
        return False
    return True


def test_builds_and_records_are_signed_when_they_are_published(scene: Scene) -> None:
    for row in (*Build.objects.all(), *Record.objects.all()):
        assert row.envelope is not None
        assert row.signed_by is not None
        assert is_valid(row.envelope, row.signed_by)
    build = Build.objects.get(uuid=scene.fast.uuid)
    stated = payload_of(build.envelope or {})
    assert stated["_type"] == "https://in-toto.io/Statement/v1"
    assert {each["name"]: each["digest"]["sha256"] for each in stated["subject"]} == {
        file.path: file.blob_id for file in build.files.all()
    }
    definition = stated["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["model"] == scene.name
    assert definition["externalParameters"]["revision"] == scene.revision.oid
    record = payload_of(Record.objects.get(pk=build.record_id).envelope or {})
    assert record["subject"][0]["digest"]["sha256"] == build.record_id
    assert record["predicate"]["measured_by"] == "hub"


def test_the_private_key_is_made_once_and_for_its_owner_alone(data_dir: Path) -> None:
    first = current_key()[1].keyid
    assert stat.S_IMODE((data_dir / "signing.key").stat().st_mode) == 0o600
    assert current_key()[1].keyid == first
    assert HubKey.objects.count() == 1


def test_a_process_with_another_key_does_not_replace_the_hubs(data_dir: Path) -> None:
    current_key()
    (data_dir / "signing.key").write_bytes(new_pem())
    with pytest.raises(SigningUnavailable, match="not one of this hub's"):
        current_key()
    (data_dir / "signing.key").unlink()
    with pytest.raises(SigningUnavailable, match="missing"):
        current_key()
    assert HubKey.objects.count() == 1
    key_rotate(is_lost=True)
    assert current_key()[0].succession is None


def test_a_process_that_still_has_a_replaced_key_signs_nothing(
    data_dir: Path, settings: Any, scene: Scene
) -> None:
    old = (data_dir / "signing.key").read_text()
    key_rotate()
    settings.SIGNING_KEY_GIVEN = old
    with pytest.raises(SigningUnavailable, match="replaced"):
        current_key()


def test_without_a_key_builds_are_published_and_signed_later(
    data_dir: Path, galaxy: MLModel, settings: Any
) -> None:
    settings.SIGNING_KEY_GIVEN = "no key"
    tuned(galaxy)
    assert not Build.objects.exclude(envelope=None).exists()
    with pytest.raises(SigningUnavailable):
        sign_pending()
    settings.SIGNING_KEY_GIVEN = ""
    assert sign_pending() == Build.objects.count() + Record.objects.count()
    assert not Build.objects.filter(envelope=None).exists()
    assert sign_pending() == 0


def test_a_given_key_signs(data_dir: Path, settings: Any, scene: Scene) -> None:
    pem = new_pem()
    file = data_dir / "new.pem"
    file.write_bytes(pem)
    call_command("keys", "rotate", "--key-file", str(file))
    settings.SIGNING_KEY_GIVEN = pem.decode()
    assert current_key()[1].keyid == read_key(pem).keyid
    with pytest.raises(CommandError, match="HPCFAIR_SIGNING_KEY"):
        call_command("keys", "rotate")


def test_a_rotation_is_signed_by_the_old_key_and_keeps_its_signatures(scene: Scene) -> None:
    old = HubKey.objects.get()
    new = key_rotate()
    old.refresh_from_db()
    assert old.valid_until is not None
    assert new.succession is not None
    assert is_valid(new.succession, old)
    assert is_valid(new.succession, new)
    row, key = current_key()
    assert row == new
    listed = signed_key_list(key)
    assert is_valid(listed, new)
    assert [each["keyid"] for each in payload_of(listed)["keys"]] == [new.keyid, old.keyid]
    assert not Build.objects.filter(signed_by=new).exists()


def test_what_a_revoked_key_signed_is_signed_again(scene: Scene) -> None:
    old = HubKey.objects.get()
    new = key_revoke(keyid=old.keyid, reason="stolen")
    assert new is not None
    assert new.succession is None
    assert not Build.objects.exclude(envelope=None).exists()
    sign_pending()
    assert set(Build.objects.values_list("signed_by", flat=True)) == {new.pk}
    with pytest.raises(CommandError, match="no valid key"):
        call_command("keys", "revoke", old.keyid, "--reason", "again")


def test_a_moved_model_is_signed_by_its_new_name(scene: Scene) -> None:
    mlmodel = MLModel.objects.get(name="galaxy-cnn")
    mlmodel_move(actor=None, mlmodel=mlmodel, namespace="lab", name="galaxies")
    assert not Build.objects.exclude(envelope=None).exists()
    sign_pending()
    for build in Build.objects.all():
        stated = payload_of(build.envelope or {})["predicate"]["buildDefinition"]
        assert stated["externalParameters"]["model"] == "lab/galaxies"


def test_the_keys_are_listed_by_the_command(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = current_key()[1].keyid
    call_command("keys", "rotate")
    call_command("keys", "revoke", first, "--reason", "old laptop")
    call_command("keys")
    shown = capsys.readouterr().out
    assert "current" in shown
    assert "revoked" in shown
    assert "old laptop" in shown


def test_what_is_not_signed_is_read_from_an_index_of_its_own(scene: Scene) -> None:
    """The background task asks each minute: its cost must not grow with what is signed."""
    for rows, index in (
        (Build.objects.filter(signed_at=None).order_by("pk"), "build_unsigned"),
        (Record.objects.filter(signed_at=None).order_by("pk"), "record_unsigned"),
    ):
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                # Small tables are scanned; the question is whether the index can serve.
                cursor.execute("SET LOCAL enable_seqscan = off")
                cursor.execute("SET LOCAL enable_bitmapscan = off")
        assert index in rows.explain()
