"""Names of devices: one for each worker, whatever its host is called."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from workers.fleet.identity import claim_name


@pytest.fixture(autouse=True)
def _one_host_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.fleet.identity.socket.gethostname", lambda: "node")


def test_two_machines_of_one_host_name_are_two_devices(tmp_path: Path) -> None:
    names = set()
    for folder in ("one", "two"):
        name, file = claim_name(tmp_path / folder)
        file.close()
        assert re.fullmatch("node-[0-9a-f]{6}", name)
        names.add(name)
    assert len(names) == 2


def test_a_worker_keeps_its_name(tmp_path: Path) -> None:
    name, file = claim_name(tmp_path)
    file.close()
    again, file = claim_name(tmp_path)
    file.close()
    assert name == again


def test_containers_that_share_a_data_folder_are_two_devices(tmp_path: Path) -> None:
    with ExitStack() as stack:
        names = []
        for _ in range(3):
            name, file = claim_name(tmp_path)
            stack.enter_context(file)
            names.append(name)
    assert len(set(names)) == 3
