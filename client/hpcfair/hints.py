"""One line on what a looser tolerance would bring, on the logger ``hpcfair.hints``.

It appears once for each model in a process, and only if the user stated no limit. To silence it,
state one (``tolerance="exact"``), set ``HPCFAIR_QUIET=1``, or raise the level of the logger::

    logging.getLogger("hpcfair.hints").setLevel(logging.ERROR)
"""

import logging
import os

from hpcfair.explain import gain_text, loss_text
from hpcfair.resolution import Resolution

# Without a configuration of logging, warnings are printed on standard error. A Python warning
# would be an error in test suites that turn warnings into errors.
_log = logging.getLogger("hpcfair.hints")
#: Gain over the loaded build below which another tolerance is not worth a line.
_WORTH = 1.1
#: Hub and model of the lines that were shown.
_models_with_hint: set[tuple[str, str]] = set()


def hint_of(resolution: Resolution) -> str:
    """The line on the fastest of the looser builds; empty if none is worth it."""
    fastest = max(resolution.looser, key=lambda looser: looser.gain, default=None)
    build = resolution.build
    now = 1 / build.ratio if build and build.ratio and not build.is_baseline else 1.0
    if fastest is None or fastest.gain < _WORTH * now:
        return ""
    than = "" if now == 1.0 else f" as the runtime's defaults (this build: {gain_text(now)})"
    loss = loss_text(fastest)
    return (
        f"{resolution.name}: {fastest.tolerance} would be "
        f"{gain_text(fastest.gain)} times as fast{than}"
        f"{f', {loss}' if loss else ''}; {fastest.arguments}"
    )


def show_hint(hub: str, resolution: Resolution) -> None:
    """Log the line of :func:`hint_of`.

    Nothing is logged if the line was, the user stated a limit or requested the published model, or
    ``HPCFAIR_QUIET`` is set.
    """
    key = (hub, resolution.name)
    is_unasked = not resolution.acceptance.is_default or resolution.target is None
    if is_unasked or key in _models_with_hint or os.environ.get("HPCFAIR_QUIET"):
        return
    if text := hint_of(resolution):
        _models_with_hint.add(key)
        _log.warning("%s", text)
