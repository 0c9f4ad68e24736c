"""Second chances: a backend given up long ago may have learned something since."""

from collections.abc import Collection

from workers.engine.space import Conditional, Space, plain
from workers.engine.strategies.peers import project
from workers.engine.types import Candidate, Options


def unseen(default: Candidate, space: Space, tried: Collection[str]) -> Candidate | None:
    """The backend's default with the first option that none of its trials had.

    A compiler without schedules for a network and the same compiler with them are two things; what
    was found about the one says little about the other. The option takes its last value, since the
    first is the plainest, and what it depends on is set so that it exists. Where the backend calls
    a configuration with it promising, it is that one.

    Args:
        tried: Names of the options that trials of this backend had.

    Returns:
        ``None`` if all were tried.
    """
    for name in space.parameters:
        if name not in tried:
            last = plain(space.parameters[name]).values[-1]
            # What goes with it, the backend knows best.
            wishes = (wish for wish in space.promising if wish.get(name) == last)
            if wished := next(wishes, None):
                return Candidate(default.backend, wished)
            options: Options = {**default.options, name: last}
            at = name
            while isinstance(parameter := space.parameters[at], Conditional):
                at = parameter.parent
                if options.get(at) not in parameter.values:
                    options[at] = parameter.values[0]
            return project(Candidate(default.backend, options), {default.backend: space})
    return None
