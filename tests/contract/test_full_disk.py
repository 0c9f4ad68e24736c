"""The command on a disk that is truly full, and in folders of somebody else."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcfair.client import Client
from hpcfair.errors import StorageFailed
from registry.tables import MLModel
from tests.factories import commit_files
from tests.programs import needs

COMMAND = "from hpcfair.cli import app; app()"


@pytest.fixture
def large(data_dir: Path, galaxy: MLModel) -> str:
    """A model with a file of 2 MiB; its name."""
    commit_files(galaxy, {"weights.bin": os.urandom(2 * 2**20)})
    return galaxy.full_name


@needs("mount")
def test_a_disk_that_is_truly_full_is_told(
    client_of: Callable[..., Client], large: str, tmp_path: Path
) -> None:
    url = client_of().config.url
    pull = f'exec {sys.executable} -c "$0" pull {large} {tmp_path}/here'
    shell = f"mount -t tmpfs -o size=1m tmpfs {tmp_path} && {pull}"
    result = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", shell, COMMAND],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "HPCFAIR_URL": url, "HPCFAIR_CACHE": f"{tmp_path}/cache"},
    )

    assert result.returncode == 1, result.stderr
    assert f"The disk of {tmp_path}/here is full: No space left on device." in result.stderr
    assert "[disk_full]" in result.stderr
    assert "Traceback" not in result.stderr


@needs("unprivileged")
def test_folders_of_somebody_else_are_told(
    client_of: Callable[..., Client], large: str, tmp_path: Path
) -> None:
    client = client_of()
    tmp_path.chmod(0o500)

    with pytest.raises(StorageFailed, match="HPCFAIR_CACHE") as failure:
        client.reuse(large)
    assert failure.value.code == "not_permitted"
    with pytest.raises(StorageFailed, match="permissions"):
        client.pull(large, tmp_path / "here")
