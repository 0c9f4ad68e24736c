"""What a backend may try: named parameters, each with its values, some present only under others.

A space is always finite. Options are a flat dictionary; a conditional parameter is absent from it
when its condition is false, so equal configurations are equal dictionaries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from random import Random
from typing import Any

from workers.engine.types import Options

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values without an order."""

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise ValueError(f"a choice needs values, all different, got {self.values!r}")


@dataclass(frozen=True, slots=True)
class IntRange:
    """``low, low + step, ...`` up to and including ``high``.

    ``log`` says that factors matter rather than differences; it needs ``low >= 1`` and step 1.
    """

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
    """A parameter that exists only while ``parent`` has one of ``values``.

    An absent parent makes the condition false, so conditions may form chains.
    """

    parent: str
    values: tuple[Value, ...]
    parameter: Plain


Parameter = Plain | Conditional


@dataclass(frozen=True)
class Space:
    """All options a backend may try.

    Parameters are declared parents first. Configurations have a fixed order, in which they have
    an index from 0 to ``size - 1``.

    Attributes:
        promising: Configurations that a search without experience does well to try first, best
            first: what is known of the compiler, not of the network.
        own: Parameters that bring in something made for this very network, such as its schedules:
            what came of them on others says nothing of it.

    Raises:
        ValueError: a condition names a parent that is not declared before it, or a value that
            this parent never has; or something promising is no configuration.
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

    def with_promising(self, *wishes: Options) -> "Space":
        """This space, with those configurations promising that come of ``wishes``.

        A wish may name options that do not exist here: they are left out. One for a value that
        does not exist here comes to nothing. What it does not name takes its first value.
        """
        wished = [member for wish in wishes if (member := self.nearest(wish)) is not None]
        unique = {tuple(sorted(options.items())): options for options in wished}
        return Space(self.parameters, tuple(unique.values()), self.own)

    def nearest(self, options: Mapping[str, Value]) -> Options | None:
        """The configuration with these options, as far as they exist here.

        An option that ``options`` lacks has its first value, the plainest. ``None`` if a value does
        not exist here.
        """
        found: Options = {}
        for name, parameter in self.parameters.items():
            if self.applies(name, found):
                found[name] = options.get(name, plain(parameter).values[0])
        return found if self.contains(found) else None

    @cached_property
    def size(self) -> int:
        """Number of configurations."""
        return prod(self._count(name) for name in self._children[None])

    def at(self, index: int) -> Options:
        """The configuration at ``index``.

        Raises:
            IndexError: ``index`` is not in ``0 .. size - 1``.
        """
        if not 0 <= index < self.size:
            raise IndexError(f"{index} is outside a space of {self.size} configurations")
        options: Options = {}
        self._unrank(self._children[None], index, options)
        return {name: options[name] for name in self.parameters if name in options}

    def enumerate(self) -> Iterator[Options]:
        """All configurations by index."""
        return (self.at(index) for index in range(self.size))

    def sample(self, rng: Random) -> Options:
        """A configuration, each with the same probability."""
        return self.at(rng.randrange(self.size))

    def contains(self, options: Mapping[str, Value]) -> bool:
        """Whether ``options`` is a configuration: nothing missing, nothing more, types exact."""
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

    def as_dict(self) -> dict[str, Any]:
        """As JSON; :meth:`from_dict` reads it."""
        found: dict[str, Any] = {
            "parameters": [_to_dict(name, p) for name, p in self.parameters.items()]
        }
        return found | ({"promising": list(self.promising)} if self.promising else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Space":
        """Read what :meth:`as_dict` wrote.

        Raises:
            ValueError: a kind of parameter is unknown or the space is inconsistent.
        """
        parameters = {entry["name"]: _from_dict(entry) for entry in data["parameters"]}
        return cls(parameters, tuple(data.get("promising", ())))

    @cached_property
    def _children(self) -> dict[str | None, tuple[str, ...]]:
        """Parameters directly under each parameter; under ``None`` the unconditional ones."""
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
        """Configurations of a parameter together with all under it."""
        return self._counts[name]

    @cached_property
    def _branches(self) -> dict[str, list[tuple[Value, tuple[str, ...], int]]]:
        """Values of each parameter, what exists under each, and in how many configurations."""
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


def _to_dict(name: str, parameter: Parameter) -> dict[str, Any]:
    match parameter:
        case Choice(values):
            return {"name": name, "kind": "choice", "values": list(values)}
        case IntRange(low, high, step, log):
            return {
                "name": name, "kind": "int", "low": low, "high": high, "step": step, "log": log
            }  # fmt: skip
        case Flag():
            return {"name": name, "kind": "flag"}
        case Conditional(parent, values, inner):
            return {**_to_dict(name, inner), "when": {"parent": parent, "values": list(values)}}


def _from_dict(entry: Mapping[str, Any]) -> Parameter:
    inner: Plain
    match entry["kind"]:
        case "choice":
            inner = Choice(tuple(entry["values"]))
        case "int":
            inner = IntRange(entry["low"], entry["high"], entry["step"], entry["log"])
        case "flag":
            inner = Flag()
        case kind:
            raise ValueError(f"unknown kind of parameter: {kind!r}")
    when = entry.get("when")
    return Conditional(when["parent"], tuple(when["values"]), inner) if when else inner
