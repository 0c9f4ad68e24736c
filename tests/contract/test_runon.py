"""A model runs on a device of the hub with a person's data: real client, hub and worker."""

from collections.abc import Callable

import numpy as np
import pytest

from hpcfair.client import Client
from hpcfair.errors import Forbidden, Invalid, NotFound
from registry.states import JobKind
from registry.tables import Namespace, User
from tests.factories import tiny_onnx
from workers.fleet.probe import ThisMachine
from workers.jobs.device import register
from workers.jobs.run import drain

pytestmark = pytest.mark.slow

NAME = "alice/tiny"
X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)


@pytest.fixture
def here(as_alice: Client, inspector: None) -> ThisMachine:
    """This machine as a device, and ``alice/tiny``, which is inspected."""
    as_alice.save(tiny_onnx(), NAME, card={"license": "apache-2.0"})
    return register()


def test_a_run_gives_its_requester_outputs_times_and_deviation(
    client_of: Callable[..., Client], as_alice: Client, bob: User, here: ThisMachine
) -> None:
    client = client_of(bob)
    run = client.run_on(here.spec.slug, NAME, X, wait=False)
    assert drain([JobKind.RUN], here=here) == 1

    np.testing.assert_allclose(run.outputs["y"], Y, rtol=1e-5)
    assert run.job.device == here.device
    assert len(run.samples_ns) >= 5
    assert run.deviation is not None
    assert run.deviation["relative_l2"] < 1e-5
    assert [job.uuid for job in client.jobs(kind="run")] == [run.uuid]
    assert not list(as_alice.jobs(kind="run"))
    with pytest.raises(NotFound):
        as_alice.remote_run(run.uuid)

    again = client.remote_run(run.uuid)
    again.delete()
    with pytest.raises(NotFound) as refusal:
        _ = again.outputs
    assert refusal.value.code == "outputs_not_found"


def test_a_refused_run_does_not_count_against_quotas(
    client_of: Callable[..., Client], bob: User, here: ThisMachine
) -> None:
    client = client_of(bob)
    with pytest.raises(NotFound):
        client.run_on("no-such-target", NAME, X)
    Namespace.objects.filter(name="bob").update(quota_run_seconds=5)
    with pytest.raises(Forbidden) as refusal:
        client.run_on(here.spec.slug, NAME, X)
    assert refusal.value.code == "quota_exceeded"
    with pytest.raises(Invalid):
        client.run_on(here.spec.slug, NAME, X, build="nothing")
    assert not list(client.jobs(kind="run"))
