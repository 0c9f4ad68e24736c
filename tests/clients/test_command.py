"""The ``hf`` command, as people type it."""

from pathlib import Path

import pytest

from tests.clients.environments import command

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("version", ["hub-0.36", "hub-2.4"])
def test_a_folder_goes_up_and_comes_down(
    version: str, as_alice: dict[str, str], tmp_path: Path
) -> None:
    up, down = tmp_path / "up", tmp_path / "down"
    (up / "part").mkdir(parents=True)
    (up / "part" / "weights.safetensors").write_bytes(bytes(range(256)) * 200)
    (up / "README.md").write_text("# Words\n")

    command(version, "hf", "upload", "alice/words", str(up), **as_alice)
    command(version, "hf", "download", "alice/words", "--local-dir", str(down), **as_alice)

    assert (down / "part/weights.safetensors").read_bytes() == bytes(range(256)) * 200
    assert (down / "README.md").read_text() == "# Words\n"


def test_it_knows_who_we_are(as_alice: dict[str, str]) -> None:
    assert "alice" in command("hub-2.4", "hf", "auth", "whoami", **as_alice)
