"""Contract of implementations of :class:`workers.device.ports.Hub`, tested by subclasses::

    class TestMine(ConnectedHubContract):
        @pytest.fixture
        def hub(self) -> Iterator[Hub]: ...

:class:`HubContract` is for implementations without a connection, :class:`ConnectedHubContract` for
those that learn of a lost lease or a cancellation during the work.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hpcfair.tickets import FileTicket, JobTicket
from workers.device.errors import HubError
from workers.device.ports import Hub
from workers.engine.errors import Cancelled, LeaseLost
from workers.engine.types import sha256_of

_KEY = "c" * 64
#: Reads of a search, with their parameters.
_READS: dict[str, dict[str, Any]] = {
    "trials_of_job": {},
    "history": {"search_key": _KEY},
    "experience": {"search_key": _KEY},
    "has_confirmed_builds": {},
    "inconclusive_candidates": {},
    "portfolio_of": {"architecture_class": "plain-cnn", "toolchains": {"onnxruntime": "1.31"}},
    "schedules_best": {"toolchain": "apache-tvm 0.27", "graph_hash": "a" * 64},
    "builds_of_job": {},
    "outcomes_of_job": {},
    "tests_of_job": {},
}


def make_row(number: int = 0, threads: str = "all") -> dict[str, Any]:
    """The columns of a trial for ``trial_add``."""
    candidate = {"backend": "onnxruntime", "options": {"threads": threads}}
    return {
        "search_key": _KEY,
        "number": number,
        "config_sha256": sha256_of(candidate),
        "candidate": candidate,
        "proposed_by": "random",
        "outcome": "crash",
        "failure_detail": "it ended",
        "duration_s": 1.5,
    }


class HubContract(ABC):
    """Tests of a hub with a claimed search, whose revision has at least one file."""

    @pytest.fixture
    @abstractmethod
    def hub(self) -> Any:
        """The hub of a claimed search, ready for reads and writes."""

    @abstractmethod
    def notes(self, hub: Hub) -> list[str]:
        """Lines of the job's log that the hub stores, after all writes have reached it."""

    @abstractmethod
    def trials(self, hub: Hub) -> list[str]:
        """``config_sha256`` of the stored trials of the job, after all writes have reached it."""

    @abstractmethod
    def stored(self, hub: Hub, digest: str) -> bytes:
        """The bytes that the hub stores, after all writes have reached it."""

    def test_the_ticket_survives_json(self, hub: Hub) -> None:
        document = json.loads(json.dumps(asdict(hub.ticket)))
        assert JobTicket.from_json(document | {"of_a_newer_hub": 1}) == hub.ticket
        assert hub.ticket.settings["tune_budget_s"] > 0

    def test_now_is_the_time_of_the_hub(self, hub: Hub) -> None:
        assert abs(hub.now() - datetime.now(UTC)) < timedelta(seconds=10)

    @pytest.mark.parametrize("name", _READS)
    def test_reads_are_json(self, hub: Hub, name: str) -> None:
        value = hub.read(name, **_READS[name])
        assert json.loads(json.dumps(value)) == value

    def test_a_write_of_an_unknown_name_is_refused(self, hub: Hub) -> None:
        with pytest.raises(HubError):
            hub.write("no_such_write", message="x")

    def test_a_read_of_an_unknown_name_is_refused(self, hub: Hub) -> None:
        with pytest.raises(HubError):
            hub.read("no_such_read")

    def test_notes_are_stored_in_order(self, hub: Hub) -> None:
        hub.write("note", message="first")
        hub.write("note", message="second")
        lines = [line for line in self.notes(hub) if line in {"first", "second"}]
        assert lines == ["first", "second"]

    def test_a_trial_is_stored_once(self, hub: Hub) -> None:
        for row in (make_row(), make_row(), make_row(1, "half")):
            hub.write("trial_add", trial=row)
        digests = [make_row(number, threads)["config_sha256"]
                   for number, threads in ((0, "all"), (1, "half"))]  # fmt: skip
        assert self.trials(hub) == digests

    def test_files_are_copied_to_their_paths(self, hub: Hub, tmp_path: Path) -> None:
        files = hub.ticket.files
        assert files
        hub.fetch(files, tmp_path)
        hub.fetch([FileTicket("deep/er/copy", files[0].sha256, files[0].size_bytes)], tmp_path)
        for file in (*files, FileTicket("deep/er/copy", files[0].sha256, files[0].size_bytes)):
            path = tmp_path / file.path
            assert not path.is_symlink()
            assert path.stat().st_nlink == 1
            assert sha256(path.read_bytes()).hexdigest() == file.sha256

    @pytest.mark.parametrize("path", ["../outside", "/etc/outside", "a/../../outside", ""])
    def test_paths_outside_the_folder_are_refused(
        self, hub: Hub, tmp_path: Path, path: str
    ) -> None:
        file, folder = hub.ticket.files[0], tmp_path / "inside"
        with pytest.raises(HubError):
            hub.fetch([FileTicket(path, file.sha256, file.size_bytes)], folder)
        assert not list(tmp_path.rglob("outside"))

    def test_bytes_that_are_missing_are_an_error(self, hub: Hub, tmp_path: Path) -> None:
        with pytest.raises(HubError):
            hub.fetch([FileTicket("x", "0" * 64, 1)], tmp_path)
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("data", [b"", b"kernel", bytes(3 * 2**20)], ids=["0", "6 B", "3 MiB"])
    def test_kept_files_are_stored(self, hub: Hub, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "made"
        path.write_bytes(data)
        assert [hub.keep(path), hub.keep(path)] == [sha256(data).hexdigest()] * 2
        path.unlink()
        assert self.stored(hub, sha256(data).hexdigest()) == data

    def test_a_held_job_may_continue(self, hub: Hub) -> None:
        hub.check()
        hub.progress("search", 1, None, "at work")
        hub.give_way()


class ConnectedHubContract(HubContract):
    """Tests of a hub that learns of changes of its job."""

    #: Seconds within which the hub reports a loss or a cancellation.
    patience_s: ClassVar[float] = 60.0

    @abstractmethod
    def lose(self, hub: Hub) -> None:
        """Give the job to another worker."""

    @abstractmethod
    def cancel(self, hub: Hub) -> None:
        """Cancel the job, as its owner does."""

    @abstractmethod
    def reported(self, hub: Hub) -> dict[str, Any]:
        """The job's progress, as the hub stores it."""

    def test_progress_is_reported(self, hub: Hub) -> None:
        hub.progress("search", 1, 10, "at work")
        report = self.reported(hub)
        assert (report["phase"], report["done"], report["total"]) == ("search", 1, 10)

    @pytest.mark.parametrize(
        "use",
        [
            lambda hub: hub.write("note", message="too late"),
            lambda hub: hub.read("trials_of_job"),
            lambda hub: hub.progress("search", 1, 10, "too late"),
        ],
        ids=["write", "read", "progress"],
    )
    def test_a_lost_job_writes_nothing(self, hub: Hub, use: Callable[[Hub], Any]) -> None:
        self.lose(hub)
        with pytest.raises(LeaseLost):
            use(hub)
        assert "too late" not in self.notes(hub)

    def test_a_lost_lease_is_reported(self, hub: Hub) -> None:
        self.lose(hub)
        self._until(hub, LeaseLost)

    def test_a_cancellation_is_reported(self, hub: Hub) -> None:
        self.cancel(hub)
        self._until(hub, Cancelled)

    def _until(self, hub: Hub, error: type[Exception]) -> None:
        deadline = time.monotonic() + self.patience_s
        while time.monotonic() < deadline:
            try:
                hub.check()
            except error:
                return
            time.sleep(0.02)
        pytest.fail(f"the job did not learn of it within {self.patience_s:g} s")
