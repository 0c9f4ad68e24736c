"""Registration of this machine as a device of the hub."""

from pathlib import Path

from django.conf import settings

from registry.selectors.work.device import device_get
from registry.services.work.catchup import plan_catch_up, plan_recheck
from registry.services.work.device import device_register, device_seen
from registry.services.work.target import target_register
from workers.device.ports import DeviceSettings
from workers.device.toolchain import tools_here
from workers.fleet.probe import ThisMachine, served_machine


def device_settings() -> DeviceSettings:
    """The settings of this process for jobs on this machine."""
    return DeviceSettings(
        work=Path(settings.DATA_DIR) / "work",
        child_memory_bytes=settings.CHILD_MEMORY_BYTES,
        isolation=settings.ISOLATION,
    )


def register() -> ThisMachine:
    """Register this machine and its target, or update their entries. Queues searches of models
    without one on the target, and reproductions with changed tools."""
    here = served_machine()
    target = target_register(
        slug=here.spec.slug,
        title=here.title,
        architecture=here.spec.architecture,
        features=sorted(here.spec.features),
        rank=here.rank,
    )
    tools = tools_here(here)
    device = device_register(name=here.device, target=target, facts=here.spec.facts, tools=tools)
    plan_catch_up(target=target)
    plan_recheck(device=device)
    return here


def report(here: ThisMachine) -> None:
    """Send a sign of life of this machine, working or idle."""
    device_seen(device=device_get(here.device))
