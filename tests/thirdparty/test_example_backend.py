"""A backend and its runtime in a package of their own, from its wheel to a loaded model."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from django.db import connections
from onnx import TensorProto, helper

from registry.states import JobKind, JobState
from registry.tables import Build, Job, User
from tests.factories import database_url, make_mlmodel, make_token, readme
from tests.thirdparty.environments import (
    build_wheel,
    link_requirements,
    make_environment,
    see_everything,
)
from workers.jobs.device import register
from workers.jobs.run import drain

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NAME = "alice/chain"
SIZE, LENGTH = 256, 12

TUNE = """
import django; django.setup()
from registry.states import JobKind
from workers.fleet.probe import this_machine
from workers.jobs.run import drain
drain([JobKind.TUNE], here=this_machine())
"""
LOAD = """
import json, sys, numpy as np, hpcfair
x = np.load(sys.argv[1])
with hpcfair.load("alice/chain") as model:
    np.save(sys.argv[2], model(x))
    build, record = model.build, model.record
print(json.dumps({
    "runtime": build.runtime, "backend": build.backend, "record": record.id,
    "modules": [name for name in ("onnxruntime", "workers") if name in sys.modules],
}))
"""


def chain(matrices: list[np.ndarray]) -> bytes:
    """A network of matrix products, which the example compiles to one."""
    names = ["x", *(f"h{n}" for n in range(1, len(matrices))), "y"]
    nodes = [
        helper.make_node("MatMul", [names[n], f"w{n}"], [names[n + 1]])
        for n in range(len(matrices))
    ]
    weights = [onnx.numpy_helper.from_array(each, f"w{n}") for n, each in enumerate(matrices)]
    sides = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", SIZE])] for name in "xy"]
    graph = helper.make_graph(nodes, "chain", *sides, weights)
    opset = helper.make_opsetid("", 17)
    return bytes(helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(HERE / "hpcfair-example-backend", tmp_path_factory.mktemp("wheel"))


def run(python: Path, code: str, *arguments: str, **environment: str) -> str:
    """What ``code`` prints in an environment of its own."""
    done = subprocess.run(
        [str(python), "-c", code, *arguments],
        env={"PATH": os.environ["PATH"], **environment},
        cwd=python.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_model_is_tuned_by_the_backend_and_loaded_by_the_runtime_of_another_package(
    wheel: Path, live_server: Any, data_dir: Path, alice: User, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    matrices = [rng.normal(0, 1 / 16, (SIZE, SIZE)).astype(np.float32) for _ in range(LENGTH)]
    x = rng.normal(size=(4, SIZE)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    worker = make_environment(tmp_path / "worker", wheel)
    see_everything(worker)
    user = make_environment(tmp_path / "user", wheel, build_wheel(ROOT / "client", tmp_path))
    link_requirements(user)

    files = {"README.md": readme(), "model.onnx": chain(matrices)}
    make_mlmodel(NAME, actor=alice, files=files)
    drain([JobKind.INSPECT], here=None)
    register()
    only = {"backends": ["product"], "budget_s": 8, "trials": 2}
    Job.objects.filter(kind=JobKind.TUNE).update(parameters=only)
    connections.close_all()
    run(
        worker,
        TUNE,
        DJANGO_SETTINGS_MODULE="hub.settings.production",
        HPCFAIR_ROOFS_SECONDS="0",
        DATABASE_URL=database_url(),
        HPCFAIR_DATA=str(data_dir),
    )

    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    build = Build.objects.get(runtime="product", withdrawn_at=None)
    printed = run(
        user,
        LOAD,
        str(tmp_path / "x.npy"),
        str(tmp_path / "y.npy"),
        HPCFAIR_URL=live_server.url,
        HPCFAIR_TOKEN=make_token(alice),
        HPCFAIR_CACHE=str(tmp_path / "cache"),
        HOME=str(tmp_path),
    )
    loaded = json.loads(printed)
    assert loaded == {
        "runtime": "product",
        "backend": "product",
        "record": build.record_id,
        "modules": [],
    }
    expected = x
    for matrix in matrices:
        expected = expected @ matrix
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-3, atol=1e-5)
