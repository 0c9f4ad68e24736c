"""Links calls to nodes: names, then isomorphism with an exact cover, then the rest by
neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from registry.nodelinks.cover import CoverColumn, cover
from registry.nodelinks.doubt import interchangeable
from registry.nodelinks.fill import fill
from registry.nodelinks.fit import LinkFit
from registry.nodelinks.isomorphism import PatternSearch, Place
from registry.nodelinks.kinds import HEAVY_KINDS, REGIONS, kind_of, patterns_of
from registry.nodelinks.names import NameTable
from registry.nodelinks.network import LinkNetwork

#: ``exact``: the profile names the node; ``inferred``: by structure and order; ``shared``: for
#: several nodes, such as a change of layout, or for one of several that cannot be told apart.
Grade = Literal["exact", "inferred", "shared"]


class Call(Protocol):
    """The part of :class:`registry.profilefiles.types.MeasuredCall` that links depend on."""

    @property
    def operator(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def span(self) -> tuple[str, str] | None: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def converts(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Linked:
    """Links of each call as grade by node, a reason for each call without any, and the fit."""

    links: tuple[dict[int, Grade], ...]
    reasons: tuple[str, ...]
    folded: tuple[int, ...]
    fit: LinkFit


class _Linker:
    def __init__(self, network: LinkNetwork, calls: Sequence[Call], *, is_ordered: bool) -> None:
        self._network, self._calls, self._is_ordered = network, calls, is_ordered
        self._names, self._search = NameTable(network), PatternSearch(network)
        self._stated = [self._stated_by(call) for call in calls]
        self._fixed = {index for stated in self._stated for index in stated}
        self._open: dict[tuple[str, tuple[int, ...] | None], list[Place]] = {}

    def link(self) -> Linked:
        columns = [self._column(number) for number in range(len(self._calls))]
        covered = cover(self._network, columns)
        links: list[dict[int, Grade]] = [dict(stated) for stated in self._stated]
        doubtful = interchangeable(self._network, covered)
        for number, place in enumerate(covered.chosen):
            for index in doubtful.get(number, place or ()):
                links[number].setdefault(index, "shared" if number in doubtful else "inferred")
        fit = self._fit(links, covered.missed, len(doubtful))
        owners: dict[int, set[int]] = {}
        for number, each in enumerate(links):
            for index in each if not self._calls[number].converts else ():
                owners.setdefault(index, set()).add(number)
        is_linked = [bool(each) for each in links]
        fill(self._network, owners)
        for index, numbers in owners.items():
            for number in numbers:
                links[number].setdefault(index, "inferred" if len(numbers) == 1 else "shared")
        return Linked(
            links=tuple(dict(sorted(each.items())) for each in links),
            reasons=tuple(
                "" if linked or links[number] else self._reason(number, columns[number])
                for number, linked in enumerate(is_linked)
            ),
            folded=tuple(sorted(self._network.folded)),
            fit=fit,
        )

    def _stated_by(self, call: Call) -> dict[int, Grade]:
        """The nodes that the profile names."""
        stated: dict[int, Grade] = {}
        for name in (*call.names, *call.outputs):
            index = self._names.look_up(name)
            if index is not None:
                stated[index] = "shared" if call.converts else "exact"
            elif (index := self._names.look_up_number(name)) is not None:
                stated[index] = "inferred"
        if call.span is not None:
            ends = [index for name in call.span if (index := self._names.look_up(name)) is not None]
            if len(ends) == 2:
                inside = self._network.descendants(ends[:1]) & self._network.ancestors(ends[1:])
                for index in sorted(inside):
                    stated.setdefault(index, "inferred")
                for index in ends:
                    stated[index] = "exact"
        return stated

    def _column(self, number: int) -> CoverColumn:
        call, stated = self._calls[number], self._stated[number]
        if call.converts:
            return CoverColumn(())
        if stated:
            takes_region = kind_of(call.operator) in REGIONS or call.span is not None
            places = self._grown(call, stated)
            return CoverColumn(places, is_fixed=True, named=places[-1], takes_region=takes_region)
        if not call.operator or not patterns_of(call.operator):
            return CoverColumn(())
        places = self._places(call)
        if not self._is_ordered:
            only = places if len(places) == 1 else []
            return CoverColumn(only, is_fixed=bool(only), named=only[0] if only else ())
        return CoverColumn(places, may_absorb=kind_of(call.operator) in HEAVY_KINDS | REGIONS)

    def _grown(self, call: Call, stated: dict[int, Grade]) -> list[Place]:
        """The named nodes with operators that may have been fused to them, by the call's patterns,
        without nodes that another call names; at last the named nodes alone."""
        named = set(stated)
        others = self._fixed - named
        places = [
            place
            for pattern in patterns_of(call.operator)
            for place in self._search.places_with(pattern, min(named))
            if named <= set(place) and others.isdisjoint(place)
        ]
        return [*sorted(places, key=len, reverse=True), tuple(sorted(named))]

    def _places(self, call: Call) -> list[Place]:
        """Places of a call without names, in topological order; with its output's shape if there
        are such places."""
        key = (call.operator, call.shape)
        if key not in self._open:
            places = {
                place
                for pattern in patterns_of(call.operator)
                for place in self._search.places(pattern)
                if self._fixed.isdisjoint(place)
            }
            ordered = sorted(places, key=self._search.rank)
            alike = [place for place in ordered if self._agrees(call, place) is not False]
            self._open[key] = alike or ordered
        return self._open[key]

    def _agrees(self, call: Call, place: Place) -> bool | None:
        """Whether the shapes are equal apart from the batch; ``None`` if one of them is unknown."""
        shape = self._network.nodes[max(place, key=self._search.position)].shape
        if call.shape is None or shape is None:
            return None
        if len(shape) != len(call.shape):
            return False
        pairs = list(zip(shape, call.shape, strict=True))[1:]
        return all(own is None or own == other for own, other in pairs)

    def _fit(self, links: list[dict[int, Grade]], missed: frozenset[int], doubtful: int) -> LinkFit:
        counted = [number for number, call in enumerate(self._calls) if not call.converts]
        linked = [number for number in counted if links[number]]
        heavy = [n for n in counted if kind_of(self._calls[n].operator) in HEAVY_KINDS]
        named = [number for number in linked if self._stated[number]]
        agree = [self._agrees(self._calls[n], tuple(links[n])) for n in named]
        return LinkFit(
            calls=len(counted),
            linked=len(linked),
            heavy_calls=len(heavy),
            heavy_linked=sum(bool(links[number]) for number in heavy),
            heavy_nodes=len(self._network.heavy) if self._is_ordered else 0,
            heavy_found=len(self._network.heavy - missed) if self._is_ordered else 0,
            shapes=sum(one is not None for one in agree),
            shapes_equal=sum(one is True for one in agree),
            named=len(named),
            doubtful=doubtful,
        )

    def _reason(self, number: int, column: CoverColumn) -> str:
        call = self._calls[number]
        if call.converts:
            return "changes layout or type between calls"
        if not call.operator or not patterns_of(call.operator):
            return "the profile tells neither a node nor an operator"
        if not self._is_ordered:
            return "without the order of execution it fits several places, or none"
        if not column.places:
            return f"the network has no free place for {call.operator}"
        return "no place is free at its turn"


def link(network: LinkNetwork, calls: Sequence[Call], *, is_ordered: bool) -> Linked:
    """Link each call to the nodes that it computes.

    Args:
        calls: In the order of execution, if ``is_ordered``.
    """
    return _Linker(network, calls, is_ordered=is_ordered).link()
