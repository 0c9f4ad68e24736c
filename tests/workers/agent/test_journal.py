"""The journal loses no write that it has confirmed."""

import math
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.agent.conftest import make_ticket
from workers.agent import journal as module
from workers.agent.journal import Journal

WRITER = """
import sys
from pathlib import Path
from workers.agent.journal import Journal
with Journal(Path(sys.argv[1])) as journal:
    journal.begin({"job_uuid": "a"})
    while True:
        print(journal.add("note", {"message": "x" * 5000}), flush=True)
"""


def test_writes_are_read_back_in_order_with_numbers_from_one(journal: Journal) -> None:
    journal.begin(make_ticket())
    assert [journal.add("note", {"message": text}) for text in "abc"] == [1, 2, 3]
    journal.confirm(2)
    unsent = [(write.number, write.name, write.columns["message"]) for write in journal.unsent()]
    assert unsent == [(1, "note", "a"), (3, "note", "c")]


def test_numbers_continue_after_a_restart(journal: Journal, state: Path) -> None:
    journal.begin(make_ticket())
    journal.confirm(journal.add("note", {}))
    with Journal(state) as again:
        assert again.add("note", {}) == 2


def test_a_claim_survives_a_restart(journal: Journal, state: Path) -> None:
    journal.begin(make_ticket())
    journal.note_candidate("c" * 64)
    with Journal(state) as again:
        claim = again.claim()
        assert claim is not None
        assert claim.ticket == make_ticket()
        assert (claim.starts, claim.candidate, claim.is_of_this_boot) == (1, "c" * 64, True)
        assert claim.report is None
        again.begin_again()
        again.end({"outcome": "released"})
        claim = again.claim()
    assert claim is not None
    assert (claim.starts, claim.candidate, claim.report) == (2, "", {"outcome": "released"})


def test_a_restart_of_the_machine_is_noticed(
    journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.begin(make_ticket())
    (tmp_path / "boot_id").write_text("another\n")
    monkeypatch.setattr(module, "_BOOT_ID", tmp_path / "boot_id")
    claim = journal.claim()
    assert claim is not None
    assert not claim.is_of_this_boot


def test_a_closed_claim_leaves_no_rows(journal: Journal) -> None:
    journal.begin(make_ticket())
    journal.add("note", {})
    journal.clear()
    assert journal.claim() is None
    assert journal.unsent() == []
    journal.begin(make_ticket())
    assert journal.add("note", {}) == 1


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_refused(journal: Journal, number: float) -> None:
    journal.begin(make_ticket())
    with pytest.raises(ValueError, match="JSON"):
        journal.add("trial_add", {"ratio": number})
    assert journal.unsent() == []


def test_a_damaged_journal_is_set_aside(state: Path) -> None:
    (state / "journal.sqlite3").write_bytes(b"this is no database" * 100)
    with Journal(state) as journal:
        assert journal.claim() is None
    assert (state / "journal.damaged").exists()


@pytest.mark.slow
def test_no_write_is_lost_when_the_agent_is_killed(state: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [next(writer.stdout) for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        lines += list(writer.stdout)
    # A line that was cut in the middle was not printed in full.
    confirmed = [int(line) for line in lines if line.endswith("\n")]
    with Journal(state) as journal:
        numbers = [write.number for write in journal.unsent()]
    assert numbers[: len(confirmed)] == confirmed
    assert len(numbers) <= len(confirmed) + 1
