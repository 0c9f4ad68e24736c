"""A cache whose files a disk or a person has changed: noticed, replaced, and said in one line."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import Offline, RuntimeFailed

X = np.ones((1, 4), np.float32)
Y = np.full((1, 3), 2, np.float32)


def change_a_byte(path: Path, *, later_s: float = 1) -> None:
    """Change the file in place: its links change with it, its size does not."""
    before = path.stat()
    path.chmod(0o644)
    with path.open("r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 0xFF]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + round(later_s * 1e9)))


def change_a_byte_silently(path: Path) -> None:
    change_a_byte(path, later_s=0)


def cut_short(path: Path) -> None:
    path.chmod(0o644)
    os.truncate(path, 20)


@pytest.mark.parametrize("damage", [change_a_byte, change_a_byte_silently, cut_short, Path.unlink])
@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_damaged_file_is_replaced_and_reported_once(
    hub: Any,
    client: Client,
    resolution: dict[str, Any],
    damage: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
    *,
    is_pinned: bool,
) -> None:
    revision = resolution["revision"] if is_pinned else None
    path = client.load("lab/tiny", revision=revision).path
    hub.requests.clear()

    damage(path)
    np.testing.assert_allclose(client.load("lab/tiny", revision=revision)(X), Y)

    (warning,) = caplog.messages
    assert "Damaged" in warning
    assert str(path) in warning
    # A file that was only unlinked has another link, among the blobs.
    downloads = 0 if damage is Path.unlink else 1
    assert len(hub.calls("GET", resolution["files"][0]["url"])) == downloads
    caplog.clear()
    client.load("lab/tiny", revision=revision)
    assert not caplog.messages


def test_a_damaged_blob_is_replaced_and_reported_once(
    hub: Any, client: Client, resolution: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    client.load("lab/tiny")
    change_a_byte(client.cache.blob(resolution["files"][0]["sha256"]))
    for path in client.cache.root.glob("trees/*/*/*"):
        path.unlink()
    for path in client.cache.root.glob("trees/*"):
        path.rename(client.cache.root / "elsewhere")

    np.testing.assert_allclose(client.load("lab/tiny")(X), Y)

    (warning,) = caplog.messages
    assert warning.endswith("They are downloaded again.")


def test_a_damaged_file_of_the_site_is_left_and_replaced_in_the_users_cache(
    hub: Any,
    config: Config,
    resolution: dict[str, Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Client(config=replace(config, cache=tmp_path / "site"), transport=hub) as filler:
        path = filler.load("lab/tiny").path
    change_a_byte(path)
    layered = replace(config, site_caches=(tmp_path / "site",))
    with Client(config=layered, transport=hub) as client:
        model = client.load("lab/tiny")
        np.testing.assert_allclose(model(X), Y)
        client.load("lab/tiny")

    assert model.path.is_relative_to(config.cache)
    (warning,) = caplog.messages
    assert str(path) in warning


@pytest.mark.filterwarnings("ignore::hpcfair.resolution.StaleAnswerWarning")
@pytest.mark.parametrize("damage", [change_a_byte, change_a_byte_silently])
def test_damage_without_a_hub_names_the_file(
    config: Config,
    hub: Any,
    resolution: dict[str, Any],
    damage: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Client(config=config, transport=hub) as client:
        path = client.load("lab/tiny", revision=resolution["revision"]).path
    damage(path)

    offline = replace(config, offline=True)
    with Client(config=offline, transport=hub) as client, pytest.raises(Offline):
        client.load("lab/tiny", revision=resolution["revision"])

    (warning,) = caplog.messages
    assert str(path) in warning


def test_a_file_that_is_not_damaged_and_cannot_be_opened_is_not_fetched_again(
    hub: Any, client: Client, resolution: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    resolution["files"] = [hub.keep(b"no network", "model.onnx")]

    with pytest.raises(RuntimeFailed):
        client.load("lab/tiny")

    assert len(hub.calls("GET", resolution["files"][0]["url"])) == 1
    assert not caplog.messages
