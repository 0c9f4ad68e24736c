"""Health checks: a device must compute a network whose outputs the hub computes as well."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.healthcheck import answer, health_check
from registry.selectors.work.device import device_get
from registry.services.work.device import device_drain, device_resume
from registry.services.work.healthcheck import device_check_answer, device_check_due
from registry.states import DeviceState
from registry.tables import AuditEntry, Device
from tests.registry import shopfloor
from tests.registry.work.fleet import enrol


@given(st.integers(0, 2**31 - 1))
def test_the_answer_is_exact_in_every_floating_point_type(seed: int) -> None:
    check = health_check(seed)
    for dtype in (np.float32, np.float16):
        x, w1, w2 = (np.array(each, dtype) for each in (check.x, check.w1, check.w2))
        assert (np.maximum(x @ w1, 0) @ w2)[0].tolist() == answer(check)
    # bfloat16 has all whole numbers to 256.
    assert max(map(abs, answer(check))) <= 256


def test_seeds_have_different_answers() -> None:
    answers = {tuple(answer(health_check(seed))) for seed in range(100)}
    assert len(answers) == 100
    assert all(any(values) for values in answers)


@pytest.mark.django_db
def test_a_device_is_checked_before_its_first_job_and_daily() -> None:
    device, _ = enrol()
    check = device_check_due(device)
    assert check is not None
    # The same one until it is answered.
    assert device_check_due(device_get(device.name)) == check
    outputs = {"onnxruntime": answer(check), "tvm": answer(check)}
    device = device_check_answer(device=device_get(device.name), seed=check.seed, outputs=outputs)
    assert device.state == DeviceState.ACTIVE
    assert device_check_due(device) is None
    Device.objects.update(checked_at=timezone.now() - timedelta(days=1, seconds=1))
    again = device_check_due(device_get(device.name))
    assert again is not None
    assert again != check


@pytest.mark.django_db
def test_a_wrong_answer_leads_to_quarantine() -> None:
    device, _ = enrol()
    check = device_check_due(device)
    assert check is not None
    right = answer(check)
    outputs = {"onnxruntime": right, "tvm": [right[0] + 1, *right[1:]]}
    device = device_check_answer(device=device_get(device.name), seed=check.seed, outputs=outputs)
    assert (device.state, device.reason) == (
        "quarantined",
        "Health check: tvm computes wrong results.",
    )
    assert AuditEntry.objects.get(action="device.unhealthy").detail == {"backends": ["tvm"]}
    assert device_check_due(device) is None
    # The same answer again changes nothing, and a repaired device is checked anew.
    assert (
        device_check_answer(device=device, seed=check.seed, outputs=outputs).state == "quarantined"
    )
    assert device_check_due(device_resume(actor=None, name=device.name)) is not None


@pytest.mark.django_db
def test_a_device_without_a_backend_that_runs_is_put_into_quarantine() -> None:
    device, _ = enrol()
    check = device_check_due(device)
    assert check is not None
    device = device_check_answer(device=device_get(device.name), seed=check.seed, outputs={})
    assert device.reason == "Health check: no backend runs."


@pytest.mark.django_db
def test_backend_names_of_a_faulty_device_are_stored_as_one_line() -> None:
    device, _ = enrol()
    check = device_check_due(device)
    assert check is not None
    outputs = {"tvm\n\x07of " + "x" * 300: [0]}
    device = device_check_answer(device=device_get(device.name), seed=check.seed, outputs=outputs)
    assert device.state == DeviceState.QUARANTINED
    assert device.reason.startswith("Health check: tvm of xxx")


@pytest.mark.django_db
def test_an_answer_to_another_check_has_no_effect() -> None:
    device, _ = enrol()
    check = device_check_due(device)
    assert check is not None
    device = device_get(device.name)
    other = check.seed + 1
    assert device_check_answer(device=device, seed=other, outputs={}).state == DeviceState.ACTIVE
    assert device_check_due(device_get(device.name)) == check


@pytest.mark.django_db
def test_workers_of_the_hub_and_devices_that_get_no_jobs_need_no_check() -> None:
    assert device_check_due(shopfloor.make_machine()[1]) is None
    device, _ = enrol()
    assert device_check_due(device_drain(actor=None, name=device.name)) is None
