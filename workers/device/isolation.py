"""How well this machine can confine child processes, checked before a worker takes jobs."""

import logging

from hpcfair.isolation.limits import Limits
from hpcfair.isolation.sandbox import LEVELS
from workers.device.ports import DeviceSettings
from workers.device.workspace import workspace
from workers.engine.child import Child

logger = logging.getLogger(__name__)


def require_isolation(settings: DeviceSettings) -> None:
    """Start a child process, and log a warning if this kernel cannot confine it completely.

    Raises SystemExit if it is confined less than the settings (``HPCFAIR_ISOLATION``) require.
    """
    with workspace(settings.work, "isolation") as folder, Child(Limits(), folder) as child:
        level = child.isolation
    required = settings.isolation
    if LEVELS.index(level) < LEVELS.index(required):
        raise SystemExit(
            f"This machine confines child processes by {level!r}, and HPCFAIR_ISOLATION requires "
            f"{required!r}. Use a kernel with Landlock (5.13) and seccomp, or set a lower level: "
            f"{', '.join(LEVELS)}. docs/sandbox.md tells what each leaves unprotected."
        )
    if level != LEVELS[-1]:
        logger.warning(
            "This kernel confines untrusted code by %r only; docs/sandbox.md tells what that "
            "leaves unprotected.",
            level,
        )
