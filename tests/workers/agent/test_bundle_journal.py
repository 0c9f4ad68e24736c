"""The journal of a bundle's jobs survives kills."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.agent.bundle.journal import JOURNAL, BundleJournal, JournalBusy, JournalDamaged

JOB, OTHER = "0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11", "1b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e12"


def test_written_lines_survive_a_restart(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"artefact")
    with BundleJournal(tmp_path / "run") as journal:
        assert journal.begin(JOB, 3) == 1
        journal.write(JOB, 3, "note", {"message": "é\n"})
        journal.write(JOB, 3, "note", {"message": "second"})
        journal.write(OTHER, 1, "note", {"message": "of another"})
        digest = journal.keep(JOB, 3, tmp_path / "file")
        journal.end(OTHER, 1, {"outcome": "released", "signature": "x"})
    with BundleJournal(tmp_path / "run") as journal:
        assert [columns["message"] for _, columns in journal.entries(JOB).writes] == [
            "é\n",
            "second",
        ]
        assert journal.entries(JOB).end is None
        assert journal.entries(OTHER).end == {"outcome": "released", "signature": "x"}
        assert journal.begin(JOB, 3) == 2
        assert digest == sha256(b"artefact").hexdigest()
        assert journal.blobs() == [(digest, 8)]
        lines = [json.loads(line) for line in journal.path.read_bytes().splitlines()]
    assert [line.get("number") for line in lines] == [None, 1, 2, 1, None, None, None]


@given(st.integers(0, 400))
def test_a_journal_that_was_cut_off_is_continued(tmp_path_factory: Any, length: int) -> None:
    folder = tmp_path_factory.mktemp("cut")
    with BundleJournal(folder) as journal:
        for number in range(3):
            journal.write(JOB, 1, "note", {"message": f"{number}" * 20})
    whole = (folder / JOURNAL).read_bytes()
    (folder / JOURNAL).write_bytes(whole[:length])
    kept = whole[:length].count(b"\n")
    with BundleJournal(folder) as journal:
        assert len(journal.entries(JOB).writes) == kept
        journal.write(JOB, 1, "note", {"message": "next"})
    with BundleJournal(folder) as journal:
        assert journal.entries(JOB).writes[-1] == ("note", {"message": "next"})
        assert len(journal.entries(JOB).writes) == kept + 1


def test_a_damaged_journal_is_an_error(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(b'{"job"\n{}\n')
    with pytest.raises(JournalDamaged, match="line 1"):
        BundleJournal(tmp_path)


def test_two_processes_do_not_share_a_journal(tmp_path: Path) -> None:
    with BundleJournal(tmp_path), pytest.raises(JournalBusy):
        BundleJournal(tmp_path)
    BundleJournal(tmp_path).__exit__()


def test_numbers_that_are_not_json_are_refused(tmp_path: Path) -> None:
    with BundleJournal(tmp_path) as journal:
        with pytest.raises(ValueError, match="not JSON compliant"):
            journal.write(JOB, 1, "note", {"message": float("nan")})
        assert not journal.entries(JOB).writes


def test_deaths_of_candidates_are_counted(tmp_path: Path) -> None:
    for _ in range(2):
        with BundleJournal(tmp_path) as journal:
            journal.begin(JOB, 1)
            journal.candidate(JOB, 1, "a" * 64)
    with BundleJournal(tmp_path) as journal:
        journal.begin(JOB, 1)
        assert journal.entries(JOB).fatal == {"a" * 64: 2}
        # A finished trial does not count, nor does an agent that was stopped by a signal.
        journal.candidate(JOB, 1, "b" * 64)
        journal.write(JOB, 1, "trial_add", {"trial": {}})
        journal.begin(JOB, 1)
        journal.candidate(JOB, 1, "c" * 64)
        journal.candidate(JOB, 1, "")
        journal.begin(JOB, 1)
        assert set(journal.entries(JOB).fatal) == {"a" * 64}
