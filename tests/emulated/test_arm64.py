"""An ARM64 device: it reports its facts, searches, and its results are marked as emulated."""

from pathlib import Path
from typing import Any

import pytest

from hpcfair import machine
from registry import schemas
from tests.emulated.machines import run_json, run_python
from tests.programs import needs

pytestmark = [needs("arm64"), pytest.mark.slow]


@pytest.fixture(scope="module")
def facts() -> Any:
    return run_json("arm64", "facts")


def test_programs_of_the_other_processor_start_each_other(facts: Any) -> None:
    assert facts["child"] == ["aarch64", "neoverse-n1"]
    assert facts["executable"] == "/usr/bin/python3.11"


def test_it_reports_that_it_is_emulated(facts: Any) -> None:
    described = facts["machine"]
    assert described["is_emulated"] is True
    assert described["architecture"] == "arm64"
    # The features of the emulated processor, none of the real one.
    assert described["features"] == ["asimd", "asimddp", "asimdhp", machine.EMULATED]
    assert described["processor"].startswith("arm64 emulated on ")
    assert described["caches"] == {}
    assert {"family", "microcode", "governor"}.isdisjoint(described)


def test_its_target_is_one_of_emulated_machines(facts: Any) -> None:
    target = facts["target"]
    assert target["slug"] == "arm64-neoverse-n1-emulated"
    assert machine.EMULATED in target["features"]


def test_the_runtimes_of_its_toolchain_work_there() -> None:
    code = (
        "import numpy, onnxruntime, ai_edge_litert.interpreter;"
        "print(numpy.__version__, onnxruntime.__version__)"
    )
    numpy, onnxruntime = run_python("arm64", ["-c", code]).split()
    assert numpy.startswith("2.4.")
    assert onnxruntime == "1.24.1"


@needs("emulation")
def test_the_engine_searches_there_and_its_records_are_marked(tmp_path: Path) -> None:
    result = run_json("arm64", "search", tmp_path)
    assert result["missing"] == {}
    assert set(result["outcomes"]) <= {"measured", "pruned"}, result["details"]
    assert result["records"]
    for record in result["records"]:
        assert not schemas.bench_problems(record)
        assert record["target"]["slug"] == "arm64-neoverse-n1-emulated"
        assert machine.EMULATED in record["target"]["features"]
        assert record["target"]["facts"]["is_emulated"] is True
        # System calls of an emulated program are not filtered; the namespaces around it confine it.
        assert record["environment"]["sandbox"] == "rlimits"
