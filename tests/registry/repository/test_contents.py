"""What the files of a revision say of themselves."""

import json
import struct
from pathlib import Path

import pytest

from registry.selectors.repository import contents
from registry.selectors.repository.contents import config_of, described_blobs, parameters_of
from registry.selectors.repository.revision import revision_get
from registry.selectors.storage.blob import blob_path_of
from tests.factories import make_mlmodel

pytestmark = pytest.mark.django_db


def test_bytes_that_were_missing_for_a_while_are_read_when_they_are_back(
    data_dir: Path, alice: object
) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    weights = struct.pack("<Q", len(header)) + header + bytes(4)
    files = {"model.safetensors": weights, "config.json": '{"model_type": "late"}'}
    blobs = described_blobs(revision_get(make_mlmodel("alice/net", files=files)))
    places = [blob_path_of(blob.sha256) for blob in blobs.values()]
    # As in a process that was started since.
    contents._config_in.cache_clear()
    contents._parameters_in.cache_clear()
    for place in places:
        place.rename(place.with_suffix(".away"))
    assert (config_of(blobs), parameters_of(blobs)) == ({}, {})
    for place in places:
        place.with_suffix(".away").rename(place)
    assert (config_of(blobs), parameters_of(blobs)) == ({"model_type": "late"}, {"F32": 1})
