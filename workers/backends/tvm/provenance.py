"""Determines the ONNX nodes that each call of a compiled network computes; exact, in linear time.

The importer names each variable after its node. Passes create variables for intermediate steps, so
after each pass the new variables are named after the owners of their uses. Fusion renames all
variables but preserves the dataflow. So calls are identified by value numbering: the number of a
call follows from its function and the numbers of its arguments, before fusion and inside fused
functions. Calls with equal numbers are the same call and have the same owners.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import IRModule, relax
from tvm.ir import GenericConst, GlobalVar

from workers.backends.tvm.owners import owners_of, rename
from workers.engine.errors import InvalidCandidate

_FUSE, _RESHAPE = "FuseOps", "RewriteDataflowReshape"
#: Function of the virtual machine for a reshape without copy.
RESHAPE = "vm.builtin.reshape"
_CALLS = frozenset({"relax.call_tir", "relax.call_dps_packed", "relax.call_pure_packed"})


@dataclass(frozen=True, slots=True)
class Site:
    """A call in the network's function.

    Attributes:
        symbol: Name of the function called.
        owners: Indices of the nodes it computes, in order.
        shared: Whether one of its steps computes several nodes.
    """

    symbol: str
    owners: tuple[int, ...]
    shared: bool


@dataclass(slots=True)
class Tracker:
    """Tracks owners through the passes; a :class:`workers.backends.tvm.compile.Watch`."""

    _before: IRModule | None = None
    _after: IRModule | None = None

    def __call__(self, name: str, module: IRModule) -> IRModule:
        """Name the variables that a pass created; returns the network."""
        if self._after is not None:
            return module
        if name == _FUSE:
            self._after = module
            return module
        self._before = rename(module, _inherited(module))
        return self._before

    def sites(self) -> list[Site]:
        """Calls of the network in order, with their owners."""
        if self._before is None:
            raise InvalidCandidate("no pass has run")
        numbers = _Numbers()
        owners: dict[Any, deque[tuple[int, ...]]] = defaultdict(deque)
        for variable, value, number in numbers.of(self._before["main"]):
            if _is_call(value):
                owners[number].append(owners_of(variable.name) or ())
        return _sites(self._after or self._before, numbers, owners)


def calls_of(module: IRModule) -> list[str]:
    """Symbols that one run of the network calls, in order."""
    return [
        _symbol(binding.value)
        for binding in bindings_of(module["main"])
        if _is_call(binding.value) or _op(binding.value) == "relax.reshape"
    ]


def bindings_of(function: Any) -> Iterator[Any]:
    """Bindings of a function in order; raises InvalidCandidate if it has branches, whose order is
    not fixed."""
    for block in function.body.blocks:
        for binding in block.bindings:
            if isinstance(binding.value, relax.If):
                raise InvalidCandidate("the network has branches, so its calls have no fixed order")
            yield binding


@dataclass(slots=True)
class _Numbers:
    """Value numbering: equal functions of equal values have equal numbers."""

    _numbers: dict[Any, int] = field(default_factory=dict)
    #: Keeps constants alive, because their addresses identify them.
    _constants: list[Any] = field(default_factory=list)

    def of(self, function: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Variable, value and number of each binding of a function."""
        yield from self.inside(function, self.inputs(function))

    def inputs(self, function: Any) -> dict[Any, Any]:
        """Numbers of a function's parameters, by position."""
        return {p: self._number(("input", n)) for n, p in enumerate(function.params)}

    def inside(self, function: Any, numbers: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
        """Like :meth:`of`, with given numbers of its parameters; adds bound variables to
        ``numbers``."""
        for binding in bindings_of(function):
            number = self.value(binding.value, numbers)
            numbers[binding.var] = number
            yield binding.var, binding.value, number

    def value(self, value: Any, numbers: Mapping[Any, Any]) -> Any:
        """Number of an expression; for a tuple the tuple of its fields' numbers."""
        match value:
            case relax.Var():
                number = numbers[value]
            case relax.Tuple():
                number = tuple(self.value(field, numbers) for field in value.fields)
            case relax.TupleGetItem():
                number = self._field(self.value(value.tuple_value, numbers), int(value.index))
            case relax.Call():
                arguments = tuple(self.value(argument, numbers) for argument in value.args)
                number = self._number((_op(value), str(value.attrs), arguments))
            case GlobalVar():
                number = ("function", value.name_hint)
            case GenericConst():
                self._constants.append(value.value)
                number = self._number(("constant", hash(value.value)))
            case _:
                number = ("literal", str(value))
        return number

    def _field(self, whole: Any, index: int) -> Any:
        if isinstance(whole, tuple):
            return whole[index]
        return self._number(("field", whole, index))

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _sites(
    module: IRModule, numbers: _Numbers, owners: Mapping[Any, deque[tuple[int, ...]]]
) -> list[Site]:
    """Calls of a fused network, each with the owners of the calls inside it."""
    main = module["main"]
    values = numbers.inputs(main)
    sites = []
    for binding in bindings_of(main):
        value = binding.value
        fused = module[value.op] if _is_fused(value) else None
        if fused is None:
            number = numbers.value(value, values)
            steps = [number] if _is_call(value) else []
        else:
            inside = {
                parameter: numbers.value(argument, values)
                for parameter, argument in zip(fused.params, value.args, strict=True)
            }
            steps = [n for _, step, n in numbers.inside(fused, inside) if _is_call(step)]
            number = numbers.value(fused.body.body, inside)
        values[binding.var] = number
        if steps:
            sites.append(_site(_symbol(value), [_next_owners(owners, step) for step in steps]))
    return sites


def _site(symbol: str, steps: Sequence[tuple[int, ...]]) -> Site:
    owners = tuple(sorted({owner for step in steps for owner in step}))
    return Site(symbol, owners, any(len(step) > 1 for step in steps))


def _next_owners(owners: Mapping[Any, deque[tuple[int, ...]]], number: Any) -> tuple[int, ...]:
    """Owners of the next call with a number: several nodes may compute the same value."""
    calls = owners.get(number)
    if not calls:
        return ()
    return calls.popleft() if len(calls) > 1 else calls[0]


def _inherited(module: IRModule) -> dict[Any, tuple[int, ...]]:
    """Owners of variables without any: those of their uses, else those of their operands."""
    bindings = list(bindings_of(module["main"]))
    owners: dict[Any, set[int]] = {}
    users: dict[Any, set[int]] = defaultdict(set)
    for binding in reversed(bindings):
        variable = binding.var
        named = owners_of(variable.name)
        owners[variable] = set(named) if named is not None else set(users[variable])
        for used in relax.analysis.free_vars(binding.value):
            users[used] |= owners[variable]
    inherited: dict[Any, tuple[int, ...]] = {}
    for binding in bindings:
        variable = binding.var
        if owners_of(variable.name) is not None:
            continue
        if not owners[variable]:
            sources = relax.analysis.free_vars(binding.value)
            owners[variable] = set().union(*(owners.get(source, set()) for source in sources))
        if owners[variable]:
            inherited[variable] = tuple(sorted(owners[variable]))
    return inherited


def _op(value: Any) -> str:
    return str(getattr(value.op, "name", "")) if isinstance(value, relax.Call) else ""


def _is_fused(value: Any) -> bool:
    return isinstance(value, relax.Call) and isinstance(value.op, GlobalVar)


def _is_call(value: Any) -> bool:
    return _op(value) in _CALLS or _is_fused(value)


def _symbol(call: Any) -> str:
    if isinstance(call.op, GlobalVar):
        return str(call.op.name_hint)
    if _op(call) == "relax.reshape":
        return RESHAPE
    called = call.args[0]
    return str(called.name_hint if isinstance(called, GlobalVar) else called.global_symbol)
