"""Tuned schedules: keys that hold everywhere, and putting schedules in."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.backends.schedules import write_records
from workers.engine.errors import InvalidCandidate
from workers.testing import networks
from workers.testing.backend_contract import this_target
from workers.testing.builds import python

pytestmark = pytest.mark.slow

LINES = '{"key": "k", "trace": [[], []], "seconds": 0.5}\n'


def program(folder: Path, names: str = "") -> Any:
    """The tunable loop nests of the dense network, its tensors renamed."""
    from workers.backends.tvm import compile as compiling  # noqa: PLC0415  heavy
    from workers.backends.tvm.importer import import_model  # noqa: PLC0415
    from workers.backends.tvm.passes import pipeline_of  # noqa: PLC0415
    from workers.backends.tvm.targets import target_of  # noqa: PLC0415

    model = networks.mlp()
    for node in model.graph.node:
        for tensors in (node.input, node.output):
            tensors[:] = [name if name in {"x", "scores"} else names + name for name in tensors]
    for tensor in model.graph.initializer:
        tensor.name = names + tensor.name
    network = networks.write(model, folder / f"model{names}")
    module = import_model(network.model_path, network.inputs, {"N": 1})
    target = target_of(this_target())
    return compiling.tensor_program(module, pipeline_of("default"), target, tunable=True).module


def keys(module: Any) -> dict[str, str]:
    from tvm.tirx import PrimFunc  # noqa: PLC0415  heavy

    from workers.backends.tvm.database import workload_key  # noqa: PLC0415

    return {
        variable.name_hint: workload_key(function)
        for variable, function in module.functions_items()
        if isinstance(function, PrimFunc)
    }


def test_keys_hold_for_other_names_and_other_processes(tmp_path: Path) -> None:
    import workers.backends.tvm.without_torch  # noqa: F401, PLC0415  heavy

    here = keys(program(tmp_path))
    assert len(set(here.values())) == len(here) == 3
    assert all(len(key) == 64 for key in here.values())
    code = (
        "import sys, json; from pathlib import Path\n"
        "import workers.backends.tvm.tuning.extract\n"
        "from tests.workers.backends.test_tvm_database import keys, program\n"
        f"there = keys(program(Path({str(tmp_path)!r}), 'other_'))\n"
        "print(json.dumps([there, 'torch' in sys.modules]))"
    )
    there, with_torch = json.loads(python(code).splitlines()[-1])
    assert sorted(there.values()) == sorted(here.values())
    # PyTorch would take such a process longer than its work.
    assert not with_torch


def test_a_schedule_is_put_where_its_key_is_and_nowhere_else(tmp_path: Path) -> None:
    from tvm import IRModule  # noqa: PLC0415  heavy
    from tvm.s_tir import Schedule  # noqa: PLC0415

    from workers.backends.tvm.database import (  # noqa: PLC0415
        DatabaseRecord,
        apply_database,
        read_records,
    )
    from workers.backends.tvm.tuning.workload import trace_of  # noqa: PLC0415

    module = program(tmp_path)
    known = keys(module)
    name = next(name for name in known if "maximum" in name)
    schedule = Schedule(IRModule({"main": module[name]}))
    outer, *_ = schedule.get_loops(schedule.get_sblock("matmul"))
    schedule.parallel(outer)
    file = tmp_path / "schedules.jsonl"
    write_records(file, [DatabaseRecord(known[name], trace_of(schedule), 1e-6)])
    changed, applied = apply_database(module, read_records(file))
    assert applied == {name: known[name]}
    assert "T.parallel" in changed[name].script()
    assert all(changed[other].same_as(module[other]) for other in known if other != name)


def test_a_schedule_of_another_loop_nest_does_not_fit(tmp_path: Path) -> None:
    from workers.backends.tvm.database import DatabaseRecord, apply_database  # noqa: PLC0415  heavy

    module = program(tmp_path)
    key = next(iter(keys(module).values()))
    trace = [[["GetSBlock", [], ["convolution", "main"], ["b0"]]], []]
    with pytest.raises(InvalidCandidate, match=f"stored schedule of {key} does not fit"):
        apply_database(module, {key: DatabaseRecord(key, trace, 1.0)})


@pytest.mark.parametrize("content", ["{}", "[]\n", "nonsense", '{"key": "k"}', '{"seconds": 1}\n'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    from workers.backends.tvm.database import read_records  # noqa: PLC0415  heavy

    file = tmp_path / "schedules.jsonl"
    file.write_text(LINES + content)
    with pytest.raises(InvalidCandidate, match=r"schedules\.jsonl is no file of schedules"):
        read_records(file)
