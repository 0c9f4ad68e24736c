"""A site's cache below the user's: read and never written. Pinned revisions need no hub."""

import os
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from hpcfair import machine
from hpcfair.cache import Cache
from hpcfair.client import Client
from hpcfair.config import Config, config_file, keep_token
from hpcfair.download import fetch_tree
from hpcfair.errors import BadConfig, StorageFailed
from hpcfair.resolution import PlainModelWarning, StaleAnswerWarning
from hpcfair.transport import Transport
from hpcfair.types import File

X = np.ones((1, 4), np.float32)
Y = np.full((1, 3), 2, np.float32)


class NoNetwork(httpx.BaseTransport):
    """A test fails that needs it."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.method} {request.url} was requested.")


def states(folder: Path) -> dict[Path, tuple[int, ...]]:
    """All files and folders; any write, even of a time, changes what it returns."""
    paths = [folder, *folder.rglob("*")] if folder.exists() else []
    files = {path: path.lstat() for path in paths}
    return {path: (s.st_ino, s.st_mode, s.st_ctime_ns, s.st_mtime_ns) for path, s in files.items()}


@pytest.fixture
def oid(resolution: dict[str, Any]) -> str:
    commit: str = resolution["revision"]
    return commit


@pytest.fixture
def site(client: Client, hub: Any, oid: str) -> Path:
    """A cache that the site filled with a revision, when nobody looked."""
    client.load("lab/tiny", revision=oid).close()
    hub.requests.clear()
    return client.cache.root


@pytest.fixture
def user(site: Path, config: Config, tmp_path: Path) -> Config:
    """Settings of a user who has loaded nothing yet."""
    return replace(config, token=None, cache=tmp_path / "user", site_caches=(site,))


def test_a_hit_of_a_pinned_revision_asks_nothing_and_writes_nothing(
    user: Config, oid: str, tmp_path: Path
) -> None:
    before = states(tmp_path)

    with Client(config=user, transport=NoNetwork()) as client:
        model = client.load("lab/tiny", revision=oid)
        np.testing.assert_allclose(model(X), Y)

    assert states(tmp_path) == before
    assert model.path.is_relative_to(user.site_caches[0])
    assert "The revision is pinned" in model.explain()


def test_a_hit_in_the_users_own_cache_asks_nothing_and_writes_nothing(
    config: Config, site: Path, oid: str
) -> None:
    before = states(site)

    Client(config=config, transport=NoNetwork()).load("lab/tiny", revision=oid)

    assert states(site) == before


def test_files_of_a_commit_that_are_cached_are_copied_without_a_request(
    client: Client, hub: Any, config: Config, oid: str, tmp_path: Path
) -> None:
    files = [hub.keep(b"card", "README.md"), hub.keep(b"graph", "model.onnx")]
    hub.on("GET", f"/api/v1/models/lab/tiny/revisions/{oid}", {"oid": oid, "files": files})
    client.reuse("lab/tiny", revision=oid)

    offline = Client(config=replace(config, offline=True), transport=NoNetwork())
    offline.pull("lab/tiny", tmp_path / "copy", revision=oid)

    assert (tmp_path / "copy" / "model.onnx").read_bytes() == b"graph"


def test_the_answer_of_a_login_node_serves_nodes_with_other_cores(
    user: Config, oid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = replace(machine.describe(), cores=machine.describe().cores + 60)
    monkeypatch.setattr(machine, "describe", lambda: node)

    Client(config=user, transport=NoNetwork()).load("lab/tiny", revision=oid)


def test_a_branch_is_asked_for_and_its_files_are_those_of_the_site(
    user: Config, hub: Any, site: Path
) -> None:
    model = Client(config=user, transport=hub).load("lab/tiny")

    assert [request.method for request in hub.requests] == ["POST"]
    assert model.path.is_relative_to(site)


def test_a_pinned_revision_without_a_build_is_asked_for_again(
    config: Config, hub: Any, resolution: dict[str, Any], oid: str
) -> None:
    tuned = dict(resolution)
    resolution |= {"build": None, "record_id": None}
    with pytest.warns(PlainModelWarning):
        Client(config=config, transport=hub).load("lab/tiny", revision=oid)
    resolution |= tuned

    assert Client(config=config, transport=hub).load("lab/tiny", revision=oid).build is not None


def test_verify_asks_for_a_pinned_revision_again(user: Config, hub: Any, oid: str) -> None:
    Client(config=user, transport=hub).load("lab/tiny", revision=oid, verify=True)

    assert [request.method for request in hub.requests] == ["POST"]


def test_what_is_damaged_in_the_site_is_loaded_into_the_users_cache(
    user: Config, hub: Any, site: Path, oid: str
) -> None:
    (damaged,) = site.glob("trees/*/files/model.onnx")
    damaged.chmod(0o644)
    damaged.write_bytes(b"damaged")
    before = states(site)

    model = Client(config=user, transport=hub).load("lab/tiny", revision=oid)

    np.testing.assert_allclose(model(X), Y)
    assert model.path.is_relative_to(user.cache)
    assert states(site) == before


def test_without_a_hub_the_answer_for_a_lesser_machine_counts(
    user: Config, oid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine.describe()
    more = tuple(sorted({*here.features, "amx_fp16", "sve2"}))
    monkeypatch.setattr(machine, "describe", lambda: replace(here, features=more))
    offline = Client(config=replace(user, offline=True), transport=NoNetwork())

    with pytest.warns(StaleAnswerWarning):
        model = offline.load("lab/tiny", revision=oid)
    np.testing.assert_allclose(model(X), Y)

    monkeypatch.setattr(machine, "describe", lambda: replace(here, features=()))
    with pytest.raises(ConnectionError):
        offline.load("lab/tiny", revision=oid)


def test_folders_of_the_site_are_a_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCFAIR_SITE_CACHE", "/scratch/models:/software/models:")

    assert Config.read().site_caches == (Path("/scratch/models"), Path("/software/models"))

    monkeypatch.setenv("HPCFAIR_SITE_CACHE", "models")
    with pytest.raises(BadConfig, match="HPCFAIR_SITE_CACHE"):
        Config.read()


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o400), (0o002, 0o444)])
def test_permissions_follow_the_umask(client: Client, oid: str, umask: int, mode: int) -> None:
    previous = os.umask(umask)
    try:
        client.load("lab/tiny", revision=oid)
    finally:
        os.umask(previous)

    paths = list(client.cache.root.rglob("*"))
    folders = {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()}
    files = {stat.S_IMODE(p.stat().st_mode) for p in paths if p.parent.name == "files"}
    assert folders == {0o777 & ~umask}
    assert files == {mode}


def as_user(uid: int, act: Callable[[], object]) -> None:
    """Run ``act`` in a child process as another user of the group 60000, with umask 002."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([60000])
            os.setresgid(60000, 60000, 60000)
            os.setresuid(uid, uid, uid)
            os.umask(0o002)
            act()
        except BaseException as error:  # noqa: BLE001 - the child must not go on as a test run
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root is others")
def test_users_of_a_group_share_a_cache_whose_folder_has_setgid(
    http: Transport, hub: Any, config: Config, tmp_path: Path
) -> None:
    first = File.from_json(hub.keep(b"first" * 999, "model.onnx"))
    second = File.from_json(hub.keep(b"second" * 999, "model.onnx"))
    cache = Cache(config.cache)
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(0o711)
    cache.root.mkdir()
    os.chown(cache.root, -1, 60000)
    cache.root.chmod(0o2770)

    def download_one_and_half_of_another() -> None:
        fetch_tree(http, cache, [first], what="lab/first")
        part = cache.partials.start(second.sha256)
        part.write_bytes(b"second" * 500)
        cache.partials.leave(part)

    def use_both() -> None:
        shutil.rmtree(cache.root / "trees")
        fetch_tree(http, cache, [first], what="lab/first")
        fetch_tree(http, cache, [second], what="lab/second", verify=True)
        assert [r.headers["Range"] for r in hub.calls("GET", second.url)] == ["bytes=3000-"]
        assert not hub.calls("GET", first.url)

    as_user(60001, download_one_and_half_of_another)
    as_user(60002, use_both)

    assert {path.stat().st_gid for path in cache.root.rglob("*")} == {60000}


def test_a_cache_that_cannot_be_written_names_its_variable(
    client: Client, oid: str, tmp_path: Path
) -> None:
    client.cache.root.write_text("no folder")

    with pytest.raises(StorageFailed, match="HPCFAIR_CACHE"):
        client.load("lab/tiny", revision=oid)


def test_no_secret_is_in_the_cache(
    hub: Any, resolution: dict[str, Any], oid: str, config: Config
) -> None:
    hub.on("GET", "/api/v1/whoami", {"name": "alice"})
    secret = "hpf_" + "s3cret" * 5

    with Client(config=replace(config, token=secret, keys=None), transport=hub) as client:
        keep_token(config.url, secret)
        client.whoami()
        client.load("lab/tiny", revision=oid)

    files = [path for path in config.cache.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    assert not [path for path in files if b"Authorization" in path.read_bytes()]
    assert secret in config_file().read_text()
    assert not config_file().is_relative_to(config.cache)
