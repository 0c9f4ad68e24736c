"""A further trial of a closed backend, if it has options that were never tried."""

from collections.abc import Collection

from workers.engine.space import Conditional, Space, plain
from workers.engine.strategies.peers import project
from workers.engine.types import Candidate, Options


def with_untried_option(
    default: Candidate, space: Space, tried: Collection[str]
) -> Candidate | None:
    """The backend's default with the first option that no trial had; ``None`` if all were tried.

    A compiler with schedules for a network performs differently from the same compiler without. The
    option takes its last value, since the first is the plainest, and its parents take values under
    which it exists. If a promising configuration of the backend has the option, that one is used.
    ``tried`` holds the names of the options that trials of this backend had.
    """
    for name in space.parameters:
        if name not in tried:
            last = plain(space.parameters[name]).values[-1]
            promising = (each for each in space.promising if each.get(name) == last)
            if options_with_it := next(promising, None):
                return Candidate(default.backend, options_with_it)
            options: Options = {**default.options, name: last}
            at = name
            while isinstance(parameter := space.parameters[at], Conditional):
                at = parameter.parent
                if options.get(at) not in parameter.values:
                    options[at] = parameter.values[0]
            return project(Candidate(default.backend, options), {default.backend: space})
    return None
