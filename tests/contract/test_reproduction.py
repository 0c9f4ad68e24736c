"""Reuse is proven: by the client, and by a stranger who has only the record."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import examples
from hpcfair.client import Client
from hpcfair.errors import BadInput
from registry.selectors.storage.blob import blob_path
from registry.tables import TestTensor
from tests.factories import tiny_onnx

NAME = "alice/tiny"
CARD = {"license": "apache-2.0", "title": "Tiny sums"}
STRANGER = Path(examples.__file__).parent / "stranger.py"


@pytest.fixture
def tiny(settings: Any, live_server: Any, as_alice: Client, inspector: None) -> str:
    """A public model that was inspected, on a hub whose records name it by its own address."""
    settings.HUB_URL = live_server.url
    return as_alice.save(tiny_onnx(), NAME, card=CARD).oid


def stranger(address: str) -> subprocess.CompletedProcess[str]:
    """The script, in an environment that says nothing of the hub."""
    return subprocess.run(
        [sys.executable, "-I", str(STRANGER), address],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )


def test_the_client_runs_a_models_tests(as_alice: Client, tiny: str) -> None:
    found = as_alice.reproduce(NAME, target=None)

    assert found.reproduced, found.detail
    assert (found.revision, found.cases, found.is_made) == (tiny, 3, True)


def test_a_revision_without_tests_is_told(as_alice: Client, tiny: str) -> None:
    TestTensor.objects.all().delete()

    with pytest.raises(BadInput, match="no test tensors"):
        as_alice.reproduce(NAME, target=None)


def test_a_stranger_runs_a_model_by_its_record_alone(
    tiny: str, live_server: Any, data_dir: Path
) -> None:
    good = stranger(f"{live_server.url}/{NAME}")
    assert good.returncode == 0, good.stderr
    assert "Reproduced." in good.stdout
    assert "/ark:" in good.stdout
    assert "spdx.org/licenses/Apache-2.0" in good.stdout

    # What comes is held against the record: a byte that changed is found.
    row = TestTensor.objects.filter(side="output").first()
    assert row is not None
    path = blob_path(row.blob)
    assert path is not None
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    bad = stranger(f"{live_server.url}/{NAME}")
    assert bad.returncode == 2
    assert "another SHA-256" in bad.stderr


def test_the_stranger_knows_nothing_of_the_hub() -> None:
    tree = ast.parse(STRANGER.read_text("utf-8"))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - sys.stdlib_module_names == {"numpy", "onnx", "onnxruntime"}
