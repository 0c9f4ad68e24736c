"""Which nodes of the ONNX graph each call of a compiled network computes. Exact, in linear time.

Method A: interval ownership and value numbering. The importer names each variable after the node
it came from. A pass over the graph makes new variables for steps inside what it replaces, so after
every pass each new one is named after the owners of what uses it; only then may the next pass run.
Fusing renames all, but keeps what is computed from what: so each call is given a number by its
function and the numbers of its arguments, before fusing and inside the fused functions, and calls
of equal numbers are the same call, with the same owners.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import IRModule, relax
from tvm.ir import GenericConst, GlobalVar

from workers.backends.tvm.importer import owners_of, rename
from workers.engine.errors import InvalidCandidate

_FUSE, _RESHAPE = "FuseOps", "RewriteDataflowReshape"
#: What the virtual machine runs a reshape as that only changes how memory is seen.
RESHAPE = "vm.builtin.reshape"
_CALLS = frozenset({"relax.call_tir", "relax.call_dps_packed", "relax.call_pure_packed"})


@dataclass(frozen=True, slots=True)
class Site:
    """One call of the network's function.

    Attributes:
        symbol: What is called.
        owners: Nodes it computes for, in order.
        shared: Whether some step of it serves several nodes at once.
    """

    symbol: str
    owners: tuple[int, ...]
    shared: bool


@dataclass(slots=True)
class Tracker:
    """Follows owners through the passes; a :class:`workers.backends.tvm.compile.Watch`."""

    _before: IRModule | None = None
    _after: IRModule | None = None

    def __call__(self, name: str, module: IRModule) -> IRModule:
        """Take a look at the network after a pass; returns it with new variables named."""
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
        known: dict[Any, deque[tuple[int, ...]]] = defaultdict(deque)
        for variable, value, number in numbers.of(self._before["main"]):
            if _is_call(value):
                known[number].append(owners_of(variable.name) or ())
        return _sites(self._after or self._before, numbers, known)


def calls_of(module: IRModule) -> list[str]:
    """Symbols that one run of the network calls, in order."""
    return [
        _symbol(binding.value)
        for binding in bindings_of(module["main"])
        if _is_call(binding.value) or _op(binding.value) == "relax.reshape"
    ]


def bindings_of(function: Any) -> Iterator[Any]:
    """Bindings of a function in order.

    Raises:
        InvalidCandidate: it branches, so there is no one order.
    """
    for block in function.body.blocks:
        for binding in block.bindings:
            if isinstance(binding.value, relax.If):
                raise InvalidCandidate("a network that branches has no one order of calls")
            yield binding


@dataclass(slots=True)
class _Numbers:
    """Numbers values: equal for the same function of the same values."""

    _numbers: dict[Any, int] = field(default_factory=dict)
    #: Keeps constants alive, whose addresses tell them apart.
    _held: list[Any] = field(default_factory=list)

    def of(self, function: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Variable, value and number of each binding."""
        yield from self.inside(function, self.inputs(function))

    def inputs(self, function: Any) -> dict[Any, Any]:
        """Numbers of a function's parameters, by their place."""
        return {p: self._number(("input", at)) for at, p in enumerate(function.params)}

    def inside(self, function: Any, known: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
        """As :meth:`of`, with the numbers of its parameters; ``known`` gains those it binds."""
        for binding in bindings_of(function):
            number = self.value(binding.value, known)
            known[binding.var] = number
            yield binding.var, binding.value, number

    def value(self, value: Any, known: Mapping[Any, Any]) -> Any:
        """Number of an expression; a tuple is the tuple of its fields' numbers."""
        match value:
            case relax.Var():
                number = known[value]
            case relax.Tuple():
                number = tuple(self.value(field, known) for field in value.fields)
            case relax.TupleGetItem():
                number = self._field(self.value(value.tuple_value, known), int(value.index))
            case relax.Call():
                arguments = tuple(self.value(argument, known) for argument in value.args)
                number = self._number((_op(value), str(value.attrs), arguments))
            case GlobalVar():
                number = ("function", value.name_hint)
            case GenericConst():
                self._held.append(value.value)
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
    module: IRModule, numbers: _Numbers, known: Mapping[Any, deque[tuple[int, ...]]]
) -> list[Site]:
    """Calls of a fused network; each takes the owners of the calls inside it."""
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
            sites.append(_site(_symbol(value), [_take(known, step) for step in steps]))
    return sites


def _site(symbol: str, steps: Sequence[tuple[int, ...]]) -> Site:
    owners = tuple(sorted({owner for step in steps for owner in step}))
    return Site(symbol, owners, any(len(step) > 1 for step in steps))


def _take(known: Mapping[Any, deque[tuple[int, ...]]], number: Any) -> tuple[int, ...]:
    """Owners of the next call of that number: two nodes may compute the same."""
    found = known.get(number)
    if not found:
        return ()
    return found.popleft() if len(found) > 1 else found[0]


def _inherited(module: IRModule) -> dict[Any, tuple[int, ...]]:
    """Owners of variables that passes made: of what uses them, else of what they are made of."""
    bindings = list(bindings_of(module["main"]))
    owners: dict[Any, set[int]] = {}
    users: dict[Any, set[int]] = defaultdict(set)
    for binding in reversed(bindings):
        variable = binding.var
        named = owners_of(variable.name)
        owners[variable] = set(named) if named is not None else set(users[variable])
        for used in relax.analysis.free_vars(binding.value):
            users[used] |= owners[variable]
    made: dict[Any, tuple[int, ...]] = {}
    for binding in bindings:
        variable = binding.var
        if owners_of(variable.name) is not None:
            continue
        if not owners[variable]:
            sources = relax.analysis.free_vars(binding.value)
            owners[variable] = set().union(*(owners.get(source, set()) for source in sources))
        if owners[variable]:
            made[variable] = tuple(sorted(owners[variable]))
    return made


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
