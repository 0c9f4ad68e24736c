"""The hub of a bundle's jobs fulfils the contract of the port; its writes reach the hub."""

import json
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hpcfair.bundlefile import BundleFile
from hpcfair.tickets import FileTicket, JobTicket
from registry.schemas.operations import WRITES
from registry.selectors.storage.blob import blob_get, blob_open
from registry.services.trust.key import current_key
from registry.services.work.bundleimport import bundle_import
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Job, JobBundle, Trial, User
from tests.bundles import export, key_of, write_results
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.analysis.roofs import columns, compute
from workers.agent.bundle import hub as bundle_hub
from workers.agent.bundle.answers import BundleAnswers
from workers.agent.bundle.hub import BundleClock, BundleHub
from workers.agent.bundle.journal import BundleJournal
from workers.agent.bundle.trust import open_jobs
from workers.agent.devicekey import DeviceKey
from workers.agent.stop import Stop
from workers.device.errors import HubError
from workers.device.ports import Hub
from workers.engine.errors import Cancelled
from workers.testing.hub_contract import HubContract

pytestmark = [pytest.mark.django_db, needs("cryptography")]


class Carried:
    """A bundle with one search, open on its device."""

    def __init__(self, alice: User, folder: Path, stop: Stop) -> None:
        files = {"README.md": readme(), "net/model.onnx": tiny_onnx()}
        mlmodel = make_mlmodel("alice/net", actor=alice, files=files)
        revision = mlmodel.refs.get(name="main").revision
        shopfloor.make_graph(revision)
        target, device = shopfloor.make_machine()
        self.folder = folder
        self.key: DeviceKey = key_of(device, folder / "agent")
        job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
        self.row: JobBundle = export(device, folder / "jobs")
        keyid = current_key()[1].keyid
        self.file: BundleFile = open_jobs(folder / "jobs", folder / "agent", self.key, keyid)
        self.journal = BundleJournal(folder / "run")
        manifest = self.file.manifest
        self.hub = BundleHub(
            JobTicket.from_json(manifest["jobs"][0]["ticket"]),
            self.file,
            BundleAnswers(json.loads(self.file.content_of(manifest["answers"]))),
            self.journal,
            BundleClock(manifest["created_at"], manifest["lease_until"]),
            stop,
        )

    def bring_back(self) -> None:
        """Import what the job has written."""
        kept = [(self.folder / "run" / "blobs" / sha256).read_bytes()
                for sha256, _ in self.journal.blobs()]  # fmt: skip
        contents = [self.journal.path.read_bytes(), *kept]
        path = write_results(self.folder / "results", self.key, str(self.row), contents)
        done = bundle_import(actor=None, path=path)
        assert {one["outcome"] for one in done.report} <= {"unfinished"}, done.report


@pytest.fixture
def stop() -> Iterator[Stop]:
    with Stop(drain_s=0.0) as stop:
        yield stop


@pytest.fixture
def carried(alice: User, tmp_path: Path, stop: Stop) -> Iterator[Carried]:
    carried = Carried(alice, tmp_path, stop)
    with carried.file, carried.journal:
        yield carried


class TestBundleHub(HubContract):
    """The contract of hubs without a connection."""

    @pytest.fixture
    def hub(self, carried: Carried) -> BundleHub:
        self._carried = carried
        return carried.hub

    def notes(self, hub: Hub) -> list[str]:
        self._carried.bring_back()
        job = Job.objects.get(uuid=hub.ticket.job_uuid)
        return list(job.events.order_by("pk").values_list("message", flat=True))

    def trials(self, hub: Hub) -> list[str]:
        self._carried.bring_back()
        rows = Trial.objects.filter(job__uuid=hub.ticket.job_uuid).order_by("number")
        return list(rows.values_list("config_sha256", flat=True))

    def stored(self, hub: Hub, digest: str) -> bytes:  # noqa: ARG002
        self._carried.bring_back()
        with blob_open(blob_get(None, digest)) as stream:
            return stream.read()


def test_the_writes_are_those_of_the_hub() -> None:
    left_out = {"progress", "yield", "candidate_begin", "run_store"}
    assert WRITES.keys() - left_out == bundle_hub.WRITES


def test_a_job_reads_what_it_has_written(carried: Carried) -> None:
    hub = carried.hub
    hub.write("trial_add", trial=shopfloor.trial(1))
    (row,) = hub.read("trials_of_job")
    assert (row["ratio"], row["predicted_ratio"], row["measurement"]) == (0.8, None, None)


def test_a_file_that_a_job_stored_can_be_fetched(carried: Carried, tmp_path: Path) -> None:
    (tmp_path / "made").write_bytes(b"tensor")
    sha256 = carried.hub.keep(tmp_path / "made")
    tensor = {
        "number": 0, "side": "input", "index": 0, "name": "x", "sha256": sha256, "is_made": True,
    }  # fmt: skip
    (ticket,) = carried.hub.write("tests_store", tensors=[tensor])
    assert carried.hub.read("tests_of_job") == [ticket]
    carried.hub.fetch([FileTicket.from_json(ticket["file"])], tmp_path / "sets")
    copied = tmp_path / "sets" / "test_data_set_0" / "input_0.pb"
    assert copied.read_bytes() == b"tensor"


def test_an_agent_that_must_stop_interrupts_its_job(carried: Carried) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    for act in (
        carried.hub.check,
        carried.hub.give_way,
        lambda: carried.hub.progress("search", 1, None, ""),
        lambda: carried.hub.write("note", message=""),
    ):
        with pytest.raises(Cancelled):
            act()


def test_a_bundle_that_changes_during_the_run_is_detected(carried: Carried, tmp_path: Path) -> None:
    whole = bytearray((tmp_path / "jobs").read_bytes())
    file = carried.hub.ticket.files[-1]
    place = whole.index(f"blobs/{file.sha256}".encode())
    whole[place + 512] ^= 1
    with (tmp_path / "jobs").open("r+b") as out:
        out.write(whole)
    carried.file._file.seek(0, 2)
    with pytest.raises(HubError) as refusal:
        carried.hub.fetch([file], tmp_path / "copy")
    assert refusal.value.code == "digest_mismatch"


NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    ("first", "last", "start"),
    [
        (NOW - timedelta(days=1), NOW + timedelta(days=1), NOW),
        (NOW + timedelta(days=1), NOW + timedelta(days=2), NOW + timedelta(days=1)),
        (NOW - timedelta(days=9), NOW - timedelta(days=8), NOW - timedelta(days=9)),
    ],
    ids=["right", "slow", "fast"],
)
def test_a_wrong_clock_does_not_date_results(
    first: datetime, last: datetime, start: datetime
) -> None:
    clock = BundleClock(first.isoformat(), last.isoformat())
    assert abs(clock.now() - start) < timedelta(hours=1)


def test_roofs_that_another_job_of_the_bundle_measured_are_known(carried: Carried) -> None:
    measured = columns([compute()])
    carried.journal.write("another", 1, "roofs_store", measured)
    carried.journal.write("another", 1, "trial_add", {"trial": shopfloor.trial(1)})
    assert carried.hub.read("roof_tools") == [measured["tools_sha256"]]
    assert carried.hub.read("trials_of_job") == []


def test_parameters_unknown_to_the_hub_have_empty_answers(carried: Carried) -> None:
    reads: dict[str, dict[str, Any]] = {
        "schedules_similar": {"toolchain": "x", "key": "d" * 64},
        "class_trials": {"backend": "tvm", "toolchain": "x", "architecture_class": "plain-cnn"},
        "history": {"search_key": "d" * 64},
        "principles": {"anchors": ["conv2d_nhwc", "dense"]},
    }
    for name, parameters in reads.items():
        assert carried.hub.read(name, **parameters) == []
