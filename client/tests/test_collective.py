"""Ranks that load together: one asks and reads, and no error leaves one waiting."""

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hpcfair import collective, machine
from hpcfair.cache import Cache
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.errors import BadInput, Corrupt, HpcfairError, ModelNotFound, StorageFailed
from hpcfair.host import Host, common_host
from hpcfair.runtimes import registry
from hpcfair.tree import find_tree
from hpcfair.types import File

RANKS = 3


class Threads:
    """The communicator of ranks that are threads; a rank that is missing breaks it."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(RANKS, timeout=20)
        self.objects = [b""] * RANKS


@dataclass
class Rank:
    world: Threads
    number: int

    def Get_rank(self) -> int:  # noqa: N802 - named as in MPI
        return self.number

    def allgather(self, sendobj: Any) -> list[Any]:
        # As by MPI, what arrives is a copy.
        self.world.objects[self.number] = pickle.dumps(sendobj)
        self.world.barrier.wait()
        objects = [pickle.loads(each) for each in self.world.objects]  # noqa: S301
        self.world.barrier.wait()
        return objects

    def bcast(self, obj: Any, root: int = 0) -> Any:
        return self.allgather(obj)[root]


def on_all_ranks(act: Callable[[Rank], Any]) -> list[Any]:
    """What ``act`` returns or raises on each rank."""
    world, results = Threads(), [None] * RANKS

    def run(number: int) -> None:
        try:
            results[number] = act(Rank(world, number))
        except Exception as error:  # noqa: BLE001 - it is what the test is about
            results[number] = error  # type: ignore[call-overload]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture
def files(hub: Any) -> list[File]:
    return [
        File.from_json(hub.keep(data, path))
        for path, data in {"model.onnx": b"graph" * 100, "sub/weights.bin": b"w" * 5000}.items()
    ]


def test_ranks_load_with_the_requests_of_one(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    models = on_all_ranks(lambda comm: client.load("lab/tiny", comm=comm))

    assert [model.revision for model in models] == [resolution["revision"]] * RANKS
    assert [request.method for request in hub.requests] == ["POST", "GET"]


def test_ranks_with_caches_of_their_own_receive_the_files(
    hub: Any, config: Config, resolution: dict[str, Any], tmp_path: Path
) -> None:
    def load(comm: Rank) -> Path:
        own = replace(config, cache=tmp_path / f"node-{comm.number}")
        path: Path = Client(config=own, transport=hub).load("lab/tiny", as_="path", comm=comm)
        return path

    paths = on_all_ranks(load)

    assert [request.method for request in hub.requests] == ["POST", "GET"]
    assert [path.relative_to(tmp_path).parts[0] for path in paths] == ["node-0", "node-1", "node-2"]
    assert len({path.read_bytes() for path in paths}) == 1


def test_a_refusal_is_raised_by_all_ranks(
    hub: Any, client: Client, answer: Callable[..., Any]
) -> None:
    hub.on("POST", "/api/v1/models/lab/tiny/resolve", answer(404, "model_not_found", "None."))

    errors = on_all_ranks(lambda comm: client.load("lab/tiny", comm=comm))

    assert [type(error) for error in errors] == [ModelNotFound] * RANKS
    assert {error.status for error in errors} == {404}
    assert len(hub.requests) == 1


def test_a_rank_that_cannot_write_fails_all(http: Any, files: list[File], tmp_path: Path) -> None:
    caches = [Cache(tmp_path / f"node-{number}") for number in range(RANKS)]
    fetch_tree(http, caches[0], files, what="lab/tiny")
    caches[2].root.write_text("no folder")

    errors = on_all_ranks(
        lambda comm: collective.share_tree(comm, caches[comm.number], files, what="lab/tiny")
    )

    assert [type(error) for error in errors] == [StorageFailed] * RANKS
    # What the others received is whole.
    assert find_tree(caches[1], files, thorough=True)


def test_bytes_that_changed_on_the_way_are_refused_by_all(
    http: Any, files: list[File], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches = [Cache(tmp_path / f"node-{number}") for number in range(RANKS)]
    fetch_tree(http, caches[0], files, what="lab/tiny")
    read = collective._read
    monkeypatch.setattr(
        collective, "_read", lambda path: (block[:-1] + b"!" for block in read(path))
    )

    errors = on_all_ranks(
        lambda comm: collective.share_tree(comm, caches[comm.number], files, what="lab/tiny")
    )

    assert [type(error) for error in errors] == [Corrupt] * RANKS
    assert find_tree(caches[1], files) is None


def test_an_error_that_cannot_be_sent_keeps_its_message() -> None:
    def fail() -> None:
        class Local(Exception):
            pass

        raise Local("of one rank")

    errors = on_all_ranks(lambda comm: collective.once(comm, fail))

    assert [type(error) for error in errors] == [HpcfairError] * RANKS
    assert "Local: of one rank" in str(errors[2])


def test_a_build_is_chosen_that_runs_on_all_ranks() -> None:
    here = machine.describe()
    lesser = Host(replace(here, features=here.features[:1]), {"onnxruntime": "1"})
    richer = Host(here, {"onnxruntime": "2", "tvm": "0.27"})

    common = common_host([richer, lesser])

    assert common.machine.features == here.features[:1]
    assert common.runtimes == {"onnxruntime": "2"}


def test_ranks_of_two_architectures_are_refused(
    hub: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine.describe()
    other = Host(replace(here, architecture="riscv64"), registry.installed())
    hosts = iter([other, Host.here(), Host.here()])
    monkeypatch.setattr(Host, "here", lambda: next(hosts))

    errors = on_all_ranks(lambda comm: client.load("lab/tiny", comm=comm))

    assert [type(error) for error in errors] == [BadInput] * RANKS
    assert hub.requests == []
