"""The spaces of several backends as one space, whose first parameter is the backend."""

from collections.abc import Mapping
from random import Random

from workers.engine.space import Choice, Conditional, Parameter, Space, plain
from workers.engine.strategies.base import Spaces
from workers.engine.types import Candidate, Options

_BACKEND = "backend"


class JointSpace:
    """Candidates of all backends, in the order of one :class:`Space`. Its parameters are
    ``backend`` and, conditional on it, ``<backend>.<name>``."""

    def __init__(self, spaces: Spaces) -> None:
        parameters: dict[str, Parameter] = {_BACKEND: Choice(tuple(spaces))}
        for backend, space in spaces.items():
            for name, parameter in space.parameters.items():
                parameters[f"{backend}.{name}"] = (
                    Conditional(
                        f"{backend}.{parameter.parent}", parameter.values, parameter.parameter
                    )
                    if isinstance(parameter, Conditional)
                    else Conditional(_BACKEND, (backend,), plain(parameter))
                )
        self.space = Space(parameters)
        self._spaces = dict(spaces)

    @property
    def size(self) -> int:
        return self.space.size

    def at(self, index: int) -> Candidate:
        return self.candidate(self.space.at(index))

    def sample(self, rng: Random) -> Candidate:
        return self.candidate(self.space.sample(rng))

    def contains(self, candidate: Candidate) -> bool:
        space = self._spaces.get(candidate.backend)
        return space is not None and space.contains(candidate.options)

    def candidate(self, options: Options) -> Candidate:
        """The candidate for options of the joint space."""
        backend = str(options[_BACKEND])
        prefix = f"{backend}."
        return Candidate(
            backend, {n.removeprefix(prefix): v for n, v in options.items() if n != _BACKEND}
        )

    def options(self, candidate: Candidate) -> Options:
        """The options of the joint space for a candidate."""
        named = {f"{candidate.backend}.{name}": v for name, v in candidate.options.items()}
        options: Mapping[str, str | int | float | bool] = {_BACKEND: candidate.backend, **named}
        return {name: options[name] for name in self.space.parameters if name in options}
