"""Search spaces: named parameters with finite sets of values, some of them conditional.

Options are a flat dictionary without the conditional parameters whose condition is false: equal
configurations are equal dictionaries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from random import Random

from workers.engine.types import Options

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several unordered values."""

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise ValueError(f"a choice needs distinct values, got {self.values!r}")


@dataclass(frozen=True, slots=True)
class IntRange:
    """``low, low + step, ...`` up to and including ``high``. ``log`` makes ratios count instead of
    differences; it needs ``low >= 1`` and step 1."""

    low: int
    high: int
    step: int = 1
    log: bool = False

    def __post_init__(self) -> None:
        if self.step < 1 or self.high < self.low or (self.high - self.low) % self.step:
            raise ValueError(f"{self} is empty or its high is not low plus a multiple of step")
        if self.log and (self.low < 1 or self.step != 1):
            raise ValueError(f"{self}: a logarithmic range needs low >= 1 and step 1")

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(range(self.low, self.high + 1, self.step))


@dataclass(frozen=True, slots=True)
class Flag:
    """On or off."""

    @property
    def values(self) -> tuple[bool, ...]:
        return (False, True)


Plain = Choice | IntRange | Flag


@dataclass(frozen=True, slots=True)
class Conditional:
    """A parameter that exists only if ``parent`` has one of ``values``. An absent parent makes the
    condition false; conditions may form chains."""

    parent: str
    values: tuple[Value, ...]
    parameter: Plain


Parameter = Plain | Conditional


@dataclass(frozen=True)
class Space:
    """All configurations that a search of one backend may try.

    Parents are declared before their conditional parameters. Configurations have a fixed order and
    an index from 0 to ``size - 1``.

    Attributes:
        promising: Configurations to try first without prior results, best first: knowledge about
            the compiler, not about the network.
        own: Parameters for something made for this network, such as its schedules. Their results do
            not carry over to other networks.

    Raises ValueError if a condition names a parent that is not declared before it, or a value that
    this parent never has; or if a promising configuration is not in the space.
    """

    parameters: dict[str, Parameter]
    promising: tuple[Options, ...] = ()
    own: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        seen: dict[str, Plain] = {}
        for name, parameter in self.parameters.items():
            if isinstance(parameter, Conditional):
                if parameter.parent not in seen:
                    raise ValueError(f"{name}: its parent {parameter.parent!r} must come before it")
                if not parameter.values or not all(
                    _among(value, seen[parameter.parent]) for value in parameter.values
                ):
                    raise ValueError(f"{name}: {parameter.parent!r} never has {parameter.values!r}")
            seen[name] = plain(parameter)
        for options in self.promising:
            if not self.contains(options):
                raise ValueError(f"{options} is promising, but no configuration of this space")

    def with_promising(self, *options: Options) -> "Space":
        """This space with the nearest configurations to ``options`` as promising ones. Each is
        completed by :meth:`nearest` and left out if a value of it does not exist here."""
        members = [member for each in options if (member := self.nearest(each)) is not None]
        unique = {tuple(sorted(member.items())): member for member in members}
        return Space(self.parameters, tuple(unique.values()), self.own)

    def nearest(self, options: Mapping[str, Value]) -> Options | None:
        """The configuration with these options, as far as the options exist here. A missing option
        takes its first value, the plainest. ``None`` if a value does not exist here."""
        member: Options = {}
        for name, parameter in self.parameters.items():
            if self.applies(name, member):
                member[name] = options.get(name, plain(parameter).values[0])
        return member if self.contains(member) else None

    @cached_property
    def size(self) -> int:
        """Number of configurations."""
        return prod(self._count(name) for name in self._children[None])

    def at(self, index: int) -> Options:
        """The configuration at ``index``; raises IndexError outside ``0 .. size - 1``."""
        if not 0 <= index < self.size:
            raise IndexError(f"{index} is outside a space of {self.size} configurations")
        options: Options = {}
        self._unrank(self._children[None], index, options)
        return {name: options[name] for name in self.parameters if name in options}

    def enumerate(self) -> Iterator[Options]:
        """All configurations by index."""
        return (self.at(index) for index in range(self.size))

    def sample(self, rng: Random) -> Options:
        """A random configuration, uniformly distributed."""
        return self.at(rng.randrange(self.size))

    def contains(self, options: Mapping[str, Value]) -> bool:
        """Whether ``options`` is a configuration: no option missing or extra, types exact."""
        present = {name for name in self.parameters if self.applies(name, options)}
        return present == options.keys() and all(
            _among(options[name], plain(self.parameters[name])) for name in present
        )

    def applies(self, name: str, options: Mapping[str, Value]) -> bool:
        """Whether the parameter exists, given the options of those declared before it."""
        parameter = self.parameters[name]
        if not isinstance(parameter, Conditional):
            return True
        return parameter.parent in options and _key(options[parameter.parent]) in {
            _key(value) for value in parameter.values
        }

    @cached_property
    def _children(self) -> dict[str | None, tuple[str, ...]]:
        """Conditional parameters of each parameter; of ``None`` the unconditional ones."""
        children: dict[str | None, list[str]] = {None: [], **{name: [] for name in self.parameters}}
        for name, parameter in self.parameters.items():
            parent = parameter.parent if isinstance(parameter, Conditional) else None
            children[parent].append(name)
        return {parent: tuple(names) for parent, names in children.items()}

    @cached_property
    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name in reversed(self.parameters):
            counts[name] = sum(
                prod(counts[child] for child in self._under(name, value))
                for value in plain(self.parameters[name]).values
            )
        return counts

    def _count(self, name: str) -> int:
        """Number of configurations of a parameter together with its conditional ones."""
        return self._counts[name]

    @cached_property
    def _branches(self) -> dict[str, list[tuple[Value, tuple[str, ...], int]]]:
        """Values of each parameter, with the parameters under each value and their number of
        configurations."""
        branches: dict[str, list[tuple[Value, tuple[str, ...], int]]] = {}
        for name, parameter in self.parameters.items():
            values = plain(parameter).values
            pairs = [(value, self._under(name, value)) for value in values]
            branches[name] = [(v, under, prod(map(self._count, under))) for v, under in pairs]
        return branches

    def _under(self, name: str, value: Value) -> tuple[str, ...]:
        return tuple(c for c in self._children[name] if self.applies(c, {name: value}))

    def _unrank(self, names: tuple[str, ...], index: int, options: Options) -> None:
        """Write the configuration of ``names`` at ``index`` (mixed radix, last name fastest)."""
        for name in reversed(names):
            index, rest = divmod(index, self._count(name))
            for value, under, weight in self._branches[name]:
                if rest < weight:
                    options[name] = value
                    self._unrank(under, rest, options)
                    break
                rest -= weight


def plain(parameter: Parameter) -> Plain:
    """The parameter without its condition."""
    return parameter.parameter if isinstance(parameter, Conditional) else parameter


def _key(value: Value) -> tuple[str, Value]:
    # 1, 1.0 and True are equal to Python and different to every backend.
    return type(value).__name__, value


def _among(value: Value, parameter: Plain) -> bool:
    return _key(value) in {_key(other) for other in parameter.values}
