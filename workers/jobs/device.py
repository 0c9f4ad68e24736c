"""This machine's entry in the hub's fleet."""

from registry.selectors.work.device import device_get
from registry.services.results.reproduction import plan_again
from registry.services.work.device import device_register, device_seen
from registry.services.work.plan import plan_catch_up
from registry.services.work.target import target_register
from workers.fleet.probe import ThisMachine, this_machine
from workers.jobs.reproduce import tools_here


def register() -> ThisMachine:
    """Register this machine and its target, or refresh what the hub knows of them.

    Models published before the target was served get a search planned; builds that other tools ran
    last are to be run by those that are here now.
    """
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
    """Tell the hub that this machine is there, at work or idle."""
    device_seen(device=device_get(here.device))
