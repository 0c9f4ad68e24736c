"""The benchmark of a hub of many models runs, and reports its fixed figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.catalogue import PAGES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_measures_every_page_of_a_hub_that_builds_its_index(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.catalogue", "--quick", "--folder", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(done.stdout.splitlines()[-1])["figures"]
    assert {"search_p95_ms", "facets_p95_ms", "fresh_s"} <= set(figures)
    for name in (*PAGES, "empty_index_first", "claim", "gc", "commit_onto_large"):
        assert figures[f"{name}_p95_ms"]["value"] > 0, name
        assert figures[f"{name}_growth"]["unit"] == "ratio"
    assert "index was complete" in done.stderr
