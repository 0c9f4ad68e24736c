"""How well this machine can confine child processes, checked before a worker takes jobs."""

import logging

from django.conf import settings

from hpcfair.isolation.limits import Limits
from hpcfair.isolation.sandbox import LEVELS
from workers.engine.child import Child
from workers.jobs.workspace import workspace

logger = logging.getLogger(__name__)


def require_isolation() -> None:
    """Start a child process, and log a warning if this kernel cannot confine it completely.

    Raises SystemExit if it is confined less than the setting ``HPCFAIR_ISOLATION`` requires.
    """
    with workspace("isolation") as folder, Child(Limits(), folder) as child:
        level = child.isolation
    required = settings.ISOLATION
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
