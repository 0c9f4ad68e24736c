"""TVM reads the database that the hub exports of a search."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from registry.selectors.analysis.workloadexport import document_of, tvm_database
from registry.selectors.analysis.workloadsearch import search_of
from registry.selectors.storage.blob import blob_open
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.analysis.recordedsearches import add_search

pytestmark = [pytest.mark.slow, pytest.mark.django_db, needs("tvm")]


def test_tvm_finds_the_fastest_schedule_in_an_exported_database(
    tmp_path: Path, data_dir: Any
) -> None:
    # Importing TVM takes seconds: only where it is used.
    import tvm  # noqa: PLC0415
    from tvm.s_tir import meta_schedule as ms  # noqa: PLC0415

    from workers.backends.tvm.tuning import blocks, workload  # noqa: PLC0415

    task = add_search(shopfloor.floor(), "conv-search")
    search = search_of(task)
    archive = tvm_database(task, search, document_of(task, search, "https://hub/w"))
    subprocess.run(["tar", "-xzf", "-", "-C", tmp_path], input=archive, check=True)
    database = ms.database.JSONDatabase(
        str(tmp_path / "database_workload.json"), str(tmp_path / "database_tuning_record.json")
    )
    with blob_open(task.source) as source:
        module = tvm.IRModule({"main": workload.unpack(source.read())})
    assert database.has_workload(module)
    assert len(database.get_all_tuning_records()) == len(search.timed)
    (best,) = database.get_top_k(database.commit_workload(module), 1)
    fastest = min(search.timed, key=lambda trial: sum(trial.seconds) / len(trial.seconds))
    assert [float(second) for second in best.run_secs] == pytest.approx(fastest.seconds)
    # Its trace still makes a schedule of the workload.
    assert "for" in best.as_measure_candidate().sch.mod.script()
    assert blocks.blocks_of(module) == task.blocks
