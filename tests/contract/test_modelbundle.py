"""A model bundle of a live hub, and a machine without a network."""

import io
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from hpcfair.bundle import BundledBlob, pieces
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import Conflict
from hpcfair.modelbundle.collection import METADATA
from hpcfair.modelbundle.manifest import envelope_of, url_of
from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.record import record_id
from hpcfair.resolution import PlainModelWarning
from hpcfair.revision import commit
from hpcfair.upload import upload
from registry.tables import MLModel, User
from tests.factories import readme, tiny_onnx
from tests.hub.api.scene import tuned
from tests.programs import needs

X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)


@pytest.fixture
def away(tmp_path: Path) -> Client:
    """A client without a network, with an empty cache."""
    keys = tmp_path / "keys-away.json"
    config = Config("http://127.0.0.1:1", None, tmp_path / "away", offline=True, keys=keys)
    return Client(config=config)


@needs("cryptography")
def test_a_bundle_has_builds_records_signatures_tests_and_metadata(
    as_alice: Client, galaxy: MLModel, tmp_path: Path
) -> None:
    scene = tuned(galaxy)
    path = tmp_path / "galaxy.hpcfair"
    summary = as_alice.bundle(scene.name, path, targets=[scene.target.slug])
    assert [build.uuid for build in summary.builds] == sorted(
        [str(scene.fast.uuid), str(scene.baseline.uuid)]
    )
    assert summary.missing == ()
    manifest = ModelBundle(path).manifest
    assert all(build["attestation"] for build in manifest["builds"])
    assert all(record["attestation"] for record in manifest["records"].values())
    assert [document["format"] for document in manifest["metadata"]] == list(METADATA)
    assert manifest["keys"]
    assert manifest["signature"]
    assert {each["kind"] for each in manifest["identifiers"]} == {"concept", "version"}


def test_a_bundle_is_run_and_reproduced_without_the_hub(
    as_alice: Client,
    inspector: None,
    away: Client,
    tmp_path: Path,
) -> None:
    as_alice.save(tiny_onnx(), "alice/tiny", card={"license": "apache-2.0"})
    path = str(tmp_path / "tiny.hpcfair")
    as_alice.bundle("alice/tiny", path)
    with pytest.warns(PlainModelWarning, match="not tuned yet"), away.load(path) as model:
        np.testing.assert_allclose(model(X), Y)
    assert away.reproduce(path, target=None).reproduced


@needs("cryptography")
def test_a_bundle_is_imported_with_its_origin_and_evidence(
    as_alice: Client, client_of: Callable[..., Client], bob: User, galaxy: MLModel, tmp_path: Path
) -> None:
    scene = tuned(galaxy)
    path = tmp_path / "galaxy.hpcfair"
    as_alice.bundle(scene.name, path, targets=[scene.target.slug])
    there = client_of(bob)
    done = there.import_model(str(path), "bob/copy")
    model = there.info("bob/copy")
    assert model.origin is not None
    assert model.origin["commit"] == done.commit == scene.revision.oid
    evidence = there.http.get("/api/v1/models/bob/copy/evidence")["document"]
    record = evidence["records"][scene.fast.record_id]
    assert record_id(record["document"]) == scene.fast.record_id
    assert record["attestation"] == scene.fast.record.envelope
    assert {each["kind"] for each in evidence["identifiers"]} == {"concept", "version"}
    # What another hub measured is none of this hub's measurements.
    assert there.builds("bob/copy") == []
    assert list(there.records(name="bob/copy")) == []
    assert there.import_model(str(path), "bob/copy").changed == ()
    with pytest.raises(Conflict, match="not imported from"):
        as_alice.import_model(str(path), scene.name)


def later(path: Path, oid: str, contents: dict[str, bytes]) -> str:
    """A bundle of a later revision with these files, which has no builds and no signatures."""
    blobs = {sha256(content).hexdigest(): content for content in contents.values()}
    files = [
        {"path": name, "sha256": digest, "size_bytes": len(content), "url": url_of(digest)}
        for name, content in contents.items()
        for digest in [sha256(content).hexdigest()]
    ]
    manifest = ModelBundle(path).manifest | {
        "revision": oid,
        "commit": {"oid": oid, "files": files},
        "blobs": [{"sha256": each, "size_bytes": len(blobs[each])} for each in blobs],
        "builds": [],
        "records": {},
        "metadata": [],
        "signature": None,
    }
    listed = [BundledBlob(each, len(content)) for each, content in blobs.items()]
    packed = pieces(envelope_of(manifest), listed, lambda each: io.BytesIO(blobs[each]))
    made = path.with_name(f"{oid}.hpcfair")
    made.write_bytes(b"".join(packed))
    return str(made)


def test_an_update_changes_what_differs_and_no_edited_file(
    as_alice: Client, galaxy: MLModel, tmp_path: Path
) -> None:
    scene = tuned(galaxy)
    path = tmp_path / "galaxy.hpcfair"
    as_alice.bundle(scene.name, path, targets=[scene.target.slug])
    card = readme(license="mit").encode()
    files = {"README.md": card, "a.txt": b"one", "b.txt": b"one"}
    as_alice.import_model(later(path, "1" * 40, files), "alice/copy")
    second = as_alice.import_model(later(path, "2" * 40, {**files, "a.txt": b"two"}), "alice/copy")
    assert set(second.changed) == {"a.txt"}
    third = later(path, "3" * 40, {"README.md": card, "a.txt": b"two"})
    assert as_alice.import_model(third, "alice/copy").deleted == ("b.txt",)
    digests = upload(as_alice.http, {"a.txt": path}, what="alice/copy")
    commit(as_alice.http, "alice/copy", add=digests, message="Mine", branch="main")
    fourth = later(path, "4" * 40, {"README.md": card, "a.txt": b"four"})
    with pytest.raises(Conflict, match=r"a\.txt"):
        as_alice.import_model(fourth, "alice/copy")
    assert "a.txt" in as_alice.import_model(fourth, "alice/copy", overwrite=True).changed
