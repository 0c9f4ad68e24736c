"""Candidates that take devices down: suspected after one, banned after two."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Forbidden
from registry.services.results.trial import trial_add
from registry.services.work.agent import agent_end
from registry.services.work.ban import ban_lift
from registry.services.work.reaper import job_reap
from registry.tables import AuditEntry, Ban, CandidateCrash, Job, Target, User
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

_FATAL = "f" * 64


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def dies(agent: Machine, ticket: JobTicket, candidate: str = _FATAL) -> None:
    """The device begins a candidate and falls silent."""
    agent.write(ticket, "candidate_begin", config_sha256=candidate)
    past = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(uuid=ticket.job_uuid).update(lease_until=past)
    job_reap()


def test_two_devices_that_a_candidate_takes_down_ban_it(floor: Floor) -> None:
    floor.tune()
    first, second = machine(floor.target, "one"), machine(floor.target, "two")
    dies(first, first.claim())
    assert not Ban.objects.exists()
    dies(second, second.claim())
    ban = Ban.objects.get()
    assert (ban.config_sha256, ban.target) == (_FATAL, floor.target)
    assert ban.reason == "It took down one and two."
    assert AuditEntry.objects.filter(action="candidate.ban").count() == 1
    assert floor.claim().banned == (_FATAL,)


def test_one_device_that_dies_twice_bans_nothing(floor: Floor) -> None:
    floor.tune()
    agent = machine(floor.target)
    for _ in range(2):
        dies(agent, agent.claim())
    assert CandidateCrash.objects.count() == 1
    assert not Ban.objects.exists()


def test_a_ban_holds_for_its_target_only(floor: Floor) -> None:
    other, _ = shopfloor.make_machine("arm64", name="arm-1")
    Ban.objects.create(target=other, config_sha256=_FATAL, reason="")
    floor.tune()
    assert floor.claim().banned == ()
    assert Target.objects.count() == 2


def test_a_device_that_dies_between_candidates_makes_none_suspected(floor: Floor) -> None:
    floor.tune()
    agent = machine(floor.target)
    ticket = agent.claim()
    past = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(uuid=ticket.job_uuid).update(lease_until=past)
    job_reap()
    assert not CandidateCrash.objects.exists()


def test_a_candidate_whose_trial_is_stored_is_no_longer_suspected(floor: Floor) -> None:
    floor.tune()
    agent = machine(floor.target)
    ticket = agent.claim()
    trial = shopfloor.trial(1)
    claim: dict[str, Any] = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    agent.write(ticket, "candidate_begin", config_sha256=_FATAL)
    trial_add(**claim, trial=trial)
    assert Job.objects.get().candidate == _FATAL
    agent.write(ticket, "candidate_begin", config_sha256=trial["config_sha256"])
    trial_add(**claim, trial=trial)
    assert Job.objects.get().candidate == ""


def test_the_next_claim_suspects_no_candidate_of_the_last(floor: Floor) -> None:
    floor.tune()
    agent = machine(floor.target)
    dies(agent, agent.claim())
    agent.claim()
    assert Job.objects.get().candidate == ""


def test_a_device_that_returns_reports_what_took_it_down(floor: Floor) -> None:
    floor.tune()
    for name in ("one", "two"):
        agent = machine(floor.target, name)
        Job.objects.update(not_before=None)
        ticket = agent.claim()
        agent.write(ticket, "candidate_begin", config_sha256=_FATAL)
        stated = {"class": "infrastructure", "code": "job_interrupted", "detail": "rebooted"}
        agent_end(
            device=agent.device,
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            outcome="failed",
            failure=stated,
            signature=agent.sign(ticket, "failed", stated),
        )
    assert Ban.objects.get().config_sha256 == _FATAL


def test_operators_lift_bans_and_two_further_devices_set_them_again(
    floor: Floor,
) -> None:
    operator = User.objects.create(username="op", is_staff=True)
    floor.tune()
    dies(*claimed(floor, "one"))
    dies(*claimed(floor, "two"))
    with pytest.raises(Forbidden):
        ban_lift(actor=floor.alice, ban=Ban.objects.get())
    ban_lift(actor=operator, ban=Ban.objects.get())
    assert not Ban.objects.exists()
    Job.objects.update(attempt=0)
    dies(*claimed(floor, "three"))
    assert not Ban.objects.exists()


def claimed(floor: Floor, name: str) -> tuple[Machine, JobTicket]:
    """A new device with a job."""
    agent = machine(floor.target, name)
    return agent, agent.claim()
