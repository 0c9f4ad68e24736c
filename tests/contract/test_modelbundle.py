"""A model bundle of a live hub, and a machine without a network."""

from pathlib import Path

import numpy as np
import pytest

from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.modelbundle.collection import METADATA
from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.resolution import PlainModelWarning
from registry.tables import MLModel
from tests.factories import tiny_onnx
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
