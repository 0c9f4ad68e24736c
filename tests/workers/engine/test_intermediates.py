"""Builds share intermediate files, and children cannot spoil what they share."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.isolation.limits import Limits
from workers.engine.intermediates import FOLDER, IntermediateStore, intermediate, saved_s
from workers.engine.types import Network

from .cast import NETWORK


@pytest.fixture
def store(tmp_path: Path) -> IntermediateStore:
    return IntermediateStore(tmp_path / "shared", Limits(file_bytes=2**20))


def written(text: str, log: list[str]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        log.append(text)
        (folder / "file").write_text(text)

    return make


def content(network: Network, facts: dict[str, str], text: str, log: list[str]) -> str:
    with intermediate(network, "step", facts, written(text, log)) as folder:
        return (folder / "file").read_text()


def test_the_next_build_reads_what_one_has_made(store: IntermediateStore, tmp_path: Path) -> None:
    log: list[str] = []
    for number, (facts, text) in enumerate(
        [({"a": "1"}, "one"), ({"a": "1"}, "again"), ({"a": "2"}, "two")]
    ):
        workspace = tmp_path / str(number)
        workspace.mkdir()
        network = replace(NETWORK, shared=store.folders(workspace))
        before = saved_s()
        assert content(network, facts, text, log) == ("one" if number < 2 else "two")
        assert (saved_s() > before) == (number == 1) or saved_s() == before == 0.0
        store.take(workspace)
    other = replace(network, normal_path=Path("normal/model.onnx"))
    content(other, {"a": "1"}, "other source", log)
    assert log == ["one", "two", "other source"]


def test_without_shared_folders_nothing_remains(tmp_path: Path) -> None:
    log: list[str] = []
    with intermediate(NETWORK, "step", {}, written("text", log)) as folder:
        assert (folder / "file").read_text() == "text"
    assert not folder.exists()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("fault", ["link", "hard-link", "size", "name", "unfinished"])
def test_what_is_no_finished_intermediate_is_not_taken(
    store: IntermediateStore, tmp_path: Path, fault: str
) -> None:
    workspace, secret = tmp_path / "1", tmp_path / "secret"
    workspace.mkdir()
    secret.write_text("secret")
    network = replace(NETWORK, shared=store.folders(workspace))
    content(network, {}, "text", [])
    (made,) = (workspace / FOLDER).iterdir()
    match fault:
        case "link":
            (made / "more").symlink_to(secret)
        case "hard-link":
            os.link(secret, made / "more")
        case "size":
            (made / "more").write_bytes(bytes(2**20 + 1))
        case "name":
            made.rename(made.parent / "..name")
        case "unfinished":
            (made / "seconds").unlink()
    store.take(workspace)
    assert not list((tmp_path / "shared").glob("*"))


def test_the_folder_itself_may_be_no_link(store: IntermediateStore, tmp_path: Path) -> None:
    workspace, elsewhere = tmp_path / "1", tmp_path / "elsewhere"
    workspace.mkdir()
    content(replace(NETWORK, shared=store.folders(workspace)), {}, "text", [])
    (workspace / FOLDER).rename(elsewhere)
    (workspace / FOLDER).symlink_to(elsewhere)
    store.take(workspace)
    assert not list((tmp_path / "shared").glob("*"))
