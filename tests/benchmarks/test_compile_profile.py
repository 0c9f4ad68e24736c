"""What the profile of TVM's compile time makes of its steps."""

from pathlib import Path

import pytest

from benchmarks.compile_profile import LISTS, figures_of, profiled
from benchmarks.pass_subjects import QUICK
from tests.programs import needs
from workers.backends.tvm import passes
from workers.fleet.probe import this_machine

STEPS = {"import": 1.0, "LegalizeOps": 1.0, "FuseOps": 2.0, "ToNonDataflow": 1.0}
CODE = {"bytecode": 1.0, "loops": 1.0, "llvm": 3.0, "link": 9.0}


def test_shares_are_of_compiling_and_add_up_to_one() -> None:
    figures = figures_of("x", {"own": [STEPS | CODE] * 3, "folded": [CODE | {"import": 3.0}] * 3})
    values = {name: figure.value for name, figure in figures.items()}
    assert values.pop("x_s") == 10
    assert values.pop("x_folded_cut") == pytest.approx(0.2)
    assert values["x_llvm"] == pytest.approx(0.3)
    assert values["x_other_passes"] == pytest.approx(0.2)
    assert values["x_needed_passes"] == pytest.approx(0.1)
    assert sum(values.values()) == pytest.approx(1)


@needs("cc")
@pytest.mark.slow
def test_every_step_of_a_build_is_timed(tmp_path: Path) -> None:
    bert = next(subject for subject in QUICK if subject.figure == "bert")
    network = bert.make(tmp_path)
    for names in (LISTS["own"], LISTS["shortest"]):
        steps = profiled(network, this_machine().spec, names)
        pipeline = passes.pipeline_of(names)
        ends = {"import", "bytecode", "loops", "llvm", "link"}
        assert set(steps) == {*ends, *pipeline.body, *pipeline.tail}
        assert min(steps.values()) >= 0
        assert min(steps[name] for name in ("import", "llvm", "link")) > 0
