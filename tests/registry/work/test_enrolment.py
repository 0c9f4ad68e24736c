"""Machines join once with a code and their own key, and send their facts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.errors import Conflict, Forbidden, Invalid, NotFound, RegistryError, Unauthenticated
from registry.selectors.work.device import device_get, device_of_token
from registry.services.work import enrolment
from registry.services.work.device import device_quarantine, device_retire, device_seen
from registry.services.work.devicecode import device_code_issue
from registry.services.work.enrolment import device_enrol, device_hello
from registry.services.work.target import target_save
from registry.states import DeviceState, JobKind
from registry.tables import AuditEntry, Device, DeviceCode, Job, Target, User
from tests.registry import shopfloor
from tests.registry.work.fleet import FACTS, TOOLS, enrol, new_key

pytestmark = pytest.mark.django_db


def hello(device: Device, **facts: object) -> Device:
    return device_hello(
        device=device,
        facts=FACTS | facts,
        tools=TOOLS,
        agent_version="1.0",
        clock=timezone.now().isoformat(),
    )


def test_a_machine_joins_with_its_facts_and_signs_in_with_its_token() -> None:
    alice = User.objects.create(username="alice")
    device, token = enrol(owner=alice)
    assert device.target.slug == "x86-64-avx2"
    assert (device.owner, device.state, device.health) == (alice, "active", "offline")
    assert device.facts == FACTS
    assert token.startswith("hpd_")
    assert device_of_token(token) == device
    assert token not in str(Device.objects.values())
    entry = AuditEntry.objects.get(action="device.enrol")
    assert (entry.actor, entry.subject) == (alice, "bench-1")
    assert token not in str(entry.detail)
    device = hello(device)
    assert (device.health, device.agent_version, device.tools) == ("online", "1.0", TOOLS)


@pytest.mark.parametrize("token", ["", "hpd_", "hpd_wrong", "hpf_wrong"])
def test_another_token_belongs_to_no_device(token: str) -> None:
    shopfloor.make_machine()
    with pytest.raises(Unauthenticated):
        device_of_token(token)


def test_a_code_is_valid_once_and_for_an_hour() -> None:
    code = device_code_issue(actor=None, target=None)
    assert code not in str(DeviceCode.objects.values())
    columns = {"facts": FACTS, "public_key": new_key()}
    first, _ = device_enrol(code=code.lower().replace("-", " "), name="one", **columns)
    assert DeviceCode.objects.get().device == first
    late = device_code_issue(actor=None, target=None)
    DeviceCode.objects.filter(device=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    for other in (code, late, "", "BCDF-BCDF-BCDF-BCDF"):
        with pytest.raises(NotFound) as caught:
            device_enrol(code=other, name="two", facts=FACTS, public_key=new_key())
        assert caught.value.code == "code_not_found"
    # Codes that were never used are deleted once they have expired.
    device_code_issue(actor=None, target=None)
    assert DeviceCode.objects.count() == 2


def test_only_operators_issue_codes() -> None:
    with pytest.raises(Forbidden):
        device_code_issue(actor=User.objects.create(username="alice"), target=None)
    operator = User.objects.create(username="op", is_staff=True)
    device_code_issue(actor=operator, target=None)
    assert DeviceCode.objects.get().owner == operator
    with pytest.raises(NotFound):
        device_code_issue(actor=operator, target="pdp-11")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "line\nbreak"}, "invalid_name"),
        ({"public_key": "no key"}, "invalid_key"),
        ({"facts": {}}, "invalid_facts"),
        ({"facts": FACTS | {"cores": 0}}, "invalid_facts"),
        ({"tools": {"onnxruntime": "1.24"}}, "invalid_facts"),
    ],
)
def test_a_bad_enrolment_is_refused_and_the_code_stays_valid(
    change: dict[str, object], code: str
) -> None:
    secret = device_code_issue(actor=None, target=None)
    columns = {"name": "bench-1", "facts": FACTS, "public_key": new_key()}
    with pytest.raises(RegistryError) as caught:
        device_enrol(code=secret, **(columns | change))  # type: ignore[arg-type]
    assert caught.value.code == code
    device_enrol(code=secret, **columns)  # type: ignore[arg-type]


def test_a_machine_that_does_not_fit_the_target_of_the_code_is_refused() -> None:
    target_save(
        actor=None,
        slug="large",
        definition={"architecture": "x86-64", "features": ["avx2"], "memory_bytes": 64 * 2**30},
    )
    with pytest.raises(Invalid) as caught:
        enrol(target="large")
    assert caught.value.detail == (
        "The machine does not fit the target large: it needs 64 GiB of memory, has 32 GiB."
    )
    assert enrol(target="large", memory_bytes=2**36)[0].target.slug == "large"


def test_an_emulated_machine_gets_a_target_of_its_own() -> None:
    facts = {"features": [*FACTS["features"], "emulated"], "is_emulated": True}
    device, _ = enrol(**facts)
    assert (device.target.slug, device.is_emulated) == ("x86-64-avx2-emulated", True)
    assert device.target.is_emulated
    with pytest.raises(Invalid, match="this one is real"):
        enrol("real", target="x86-64-avx2-emulated")
    enrol("real")
    with pytest.raises(Invalid, match="this one is emulated"):
        enrol("other", target="x86-64-avx2", **facts)


def test_a_machine_that_enrols_again_gets_a_new_token_and_keeps_its_state() -> None:
    key = new_key()
    device, first = enrol(key=key)
    device_quarantine(actor=None, name=device.name)
    again, second = enrol(key=key)
    assert again == device
    assert device_of_token(second).state == DeviceState.QUARANTINED
    with pytest.raises(Unauthenticated):
        device_of_token(first)


def test_nobody_takes_over_a_device() -> None:
    alice, key = User.objects.create(username="alice"), new_key()
    device, token = enrol(owner=alice, key=key)
    attempts = [
        {"owner": alice},  # another key
        {"key": key},  # another owner
        {"name": "other", "owner": alice, "key": key},  # another name
    ]
    for columns in attempts:
        with pytest.raises(Conflict) as caught:
            enrol(**columns)  # type: ignore[arg-type]
        assert caught.value.code == "device_exists"
    assert device_of_token(token) == device
    device_retire(actor=None, name=device.name)
    with pytest.raises(Conflict):
        enrol(owner=alice, key=key)


@pytest.mark.parametrize("taken", ["bench-1", "bench-2"])
def test_of_two_machines_that_take_a_name_or_a_key_at_the_same_time_one_gets_it(
    monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    namesake, key = enrolment._namesake, new_key()

    def other_comes_first(name: str, pem: str, owner: User | None) -> Device | None:
        existing = namesake(name, pem, owner)
        monkeypatch.setattr(enrolment, "_namesake", namesake)
        enrol(taken, key="" if taken == name else key)
        return existing

    monkeypatch.setattr(enrolment, "_namesake", other_comes_first)
    with pytest.raises(Conflict, match="key" if taken == "bench-2" else "name") as caught:
        enrol(key=key)
    assert caught.value.code == "device_exists"


def test_the_first_device_of_a_target_brings_searches_of_the_models() -> None:
    shopfloor.floor()
    device, _ = enrol()
    hello(device)
    assert Job.objects.filter(kind=JobKind.TUNE, target=device.target).count() == 1
    Job.objects.all().delete()
    second, _ = enrol("bench-2")
    hello(second)
    assert not Job.objects.filter(kind=JobKind.TUNE, target=device.target).exists()


@pytest.mark.parametrize(
    "facts",
    [
        {"features": ["sse4_2"]},
        {"architecture": "arm64", "features": ["asimd"]},
        {"cores": -3},
        {"memory_bytes": 2**70},
        {"features": ["amx_bf16"]},
    ],
)
def test_a_device_with_impossible_facts_is_put_into_quarantine(
    facts: dict[str, object],
) -> None:
    device, _ = enrol()
    with pytest.raises(Invalid):
        hello(device, **facts)
    device = device_get(device.name)
    assert device.state == DeviceState.QUARANTINED
    assert device.facts == FACTS
    assert AuditEntry.objects.filter(action="device.offence").count() == 1
    # It may correct its facts, and stays in quarantine until an operator resumes it.
    assert hello(device).state == DeviceState.QUARANTINED


def test_a_machine_that_was_replaced_is_logged_and_checked_again() -> None:
    device, _ = enrol()
    Device.objects.update(checked_at=timezone.now())
    assert hello(device).checked_at is not None
    changed = hello(device, processor="Example Processor 9000", cores=16)
    assert changed.checked_at is None
    entry = AuditEntry.objects.get(action="device.change")
    assert entry.detail == {
        "processor": ["Example Processor 8000", "Example Processor 9000"],
        "cores": [8, 16],
    }


@pytest.mark.parametrize("clock", ["1970-01-01T00:00:00Z", "1970-01-01", "no time", "", None])
def test_the_clock_of_a_device_has_no_effect(clock: str | None) -> None:
    device, _ = enrol()
    greeted = device_hello(device=device, facts=FACTS, tools=TOOLS, agent_version="1", clock=clock)
    assert greeted.last_seen_at is not None
    assert greeted.last_seen_at > timezone.now() - timedelta(minutes=1)
    assert (greeted.facts.get("clock_offset_s", 0) < -(10**9)) == (clock == "1970-01-01T00:00:00Z")


def test_a_worker_of_the_hub_has_no_token() -> None:
    _, device = shopfloor.make_machine()
    device_seen(device=device)
    assert (device.token_hash, device.public_key, device.owner) == ("", "", None)
    assert Target.objects.count() == 1
