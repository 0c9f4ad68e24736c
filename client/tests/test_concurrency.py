"""One model, many threads and coroutines."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from hpcfair.client import Client
from hpcfair.errors import BadInput, RuntimeFailed

WEIGHT = np.full((4, 3), 0.5, np.float32)


def batch(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((int(rng.integers(1, 9)), 4)).astype(np.float32)


@pytest.mark.parametrize("backend", ["onnxruntime", "offline"])
def test_every_thread_gets_the_outputs_of_its_own_inputs(
    client: Client, resolution: dict[str, Any], backend: str
) -> None:
    if backend == "offline":
        resolution["build"] |= {
            "scenario": "offline",
            "execution": {"batch": 4, "streams": "cores"},
        }
    model = client.load("lab/tiny")

    def use(seed: int) -> None:
        x = batch(seed)
        np.testing.assert_allclose(model(x), x @ WEIGHT, rtol=1e-5)
        rows = list(model.map(x))
        np.testing.assert_allclose(np.stack(rows), x @ WEIGHT, rtol=1e-5)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(400)))


def test_coroutines_wait_without_blocking_the_loop(
    client: Client, resolution: dict[str, Any]
) -> None:
    model = client.load("lab/tiny")
    threads = set()

    async def use(seed: int) -> None:
        x = batch(seed)
        outputs = await model.run_async(x)
        threads.add(threading.get_ident())
        np.testing.assert_allclose(outputs["y"], x @ WEIGHT, rtol=1e-5)

    async def all_of_them() -> None:
        await asyncio.gather(*map(use, range(200)))
        with pytest.raises(BadInput, match="one dimension is missing"):
            await model.run_async(batch(0)[0])

    asyncio.run(all_of_them())
    assert threads == {threading.get_ident()}


def test_a_model_that_is_closed_while_it_is_used_says_so(
    client: Client, resolution: dict[str, Any]
) -> None:
    model = client.load("lab/tiny")
    started = threading.Event()

    def use() -> str:
        try:
            while True:
                model(batch(0))
                started.set()
        except RuntimeFailed as error:
            return error.detail

    with ThreadPoolExecutor(4) as pool:
        endings = [pool.submit(use) for _ in range(4)]
        assert started.wait(60)
        model.close()
        assert {each.result(60) for each in endings} == {"this build has been closed"}
    with pytest.raises(RuntimeFailed, match="closed"):
        asyncio.run(model.run_async(batch(0)))
    model.close()


def test_a_warm_up_takes_inputs_or_makes_them(client: Client, resolution: dict[str, Any]) -> None:
    model = client.load("lab/tiny")

    model.warmup()
    model.warmup(batch(1), runs=1)
    model.warmup(x=batch(1))
    with pytest.raises(BadInput, match="unknown: 'z'"):
        model.warmup(z=batch(1))


def test_a_warm_up_that_needs_inputs_asks_for_them(
    client: Client, resolution: dict[str, Any]
) -> None:
    x = {"name": "x", "dtype": "float32", "shape": ["N", "D"]}
    resolution["signature"] = {**resolution["signature"], "inputs": [x]}

    with pytest.raises(BadInput, match=r"m\.warmup\(x\)"):
        client.load("lab/tiny").warmup()
