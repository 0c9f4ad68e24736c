"""Record stores without a hub."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from workers.engine.ports import TrialStore
from workers.engine.trial_store import JsonLinesTrialStore, MemoryTrialStore
from workers.engine.trials import Experience, Prior
from workers.testing.trial_store_contract import TrialStoreContract, make_trial


class TestMemoryStore(TrialStoreContract):
    @pytest.fixture(autouse=True)
    def _forget(self) -> None:
        self.store: MemoryTrialStore | None = None

    def make(
        self, history: Sequence[Prior] = (), experience: Sequence[Experience] = ()
    ) -> TrialStore:
        self.store = self.store or MemoryTrialStore(history, experience)
        return self.store


class TestJsonLinesStore(TrialStoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "trials.jsonl"

    def make(
        self, history: Sequence[Prior] = (), experience: Sequence[Experience] = ()
    ) -> TrialStore:
        return JsonLinesTrialStore(self.path, history, experience)

    def test_a_line_cut_off_by_a_crash_is_dropped_and_written_over(self) -> None:
        self.make().add(make_trial(0))
        whole = self.path.read_bytes()
        self.path.write_bytes(whole + whole[:-10])
        reopened = self.make()
        assert [trial.number for trial in reopened.trials()] == [0]
        reopened.add(make_trial(1))
        assert [trial.number for trial in self.make().trials()] == [0, 1]

    def test_a_trial_is_one_line_of_json_without_machine_paths(self) -> None:
        self.make().add(make_trial(0))
        (line,) = self.path.read_text().splitlines()
        assert "directory" not in json.loads(line)["build"]
