"""Registration of this machine as a device of the hub."""

from registry.selectors.work.device import device_get
from registry.services.results.reproduction import plan_again
from registry.services.work.device import device_register, device_seen
from registry.services.work.plan import plan_catch_up
from registry.services.work.target import target_register
from workers.fleet.probe import ThisMachine, this_machine
from workers.jobs.reproduce import tools_here


def register() -> ThisMachine:
    """Register this machine and its target, or update their entries. Queues searches of models
    without one on the target, and reproductions with changed tools."""
    here = this_machine()
    target = target_register(
        slug=here.spec.slug,
        title=here.title,
        architecture=here.spec.architecture,
        features=sorted(here.spec.features),
        rank=here.rank,
    )
    device_register(name=here.device, target=target, facts=here.spec.facts)
    plan_catch_up(target=target)
    plan_again(target=target, tools=tools_here(here))
    return here


def report(here: ThisMachine) -> None:
    """Send a sign of life of this machine, working or idle."""
    device_seen(device=device_get(here.device))
