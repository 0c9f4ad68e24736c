"""Calls that could be exchanged: branches that run side by side with equal operators and shapes.

Their order does not identify them, so each is linked to the nodes of all of them. The sum of their
times is then the time of all these nodes, whichever branch ran first.
"""

from registry.nodelinks.cover import Cover
from registry.nodelinks.network import LinkNetwork


def interchangeable(network: LinkNetwork, cover: Cover) -> dict[int, tuple[int, ...]]:
    """Calls of each group of exchangeable ones to the nodes of the whole group."""
    takers = {place: number for number, place in enumerate(cover.chosen) if place is not None}
    groups: dict[int, set[int]] = {}
    for number, others in enumerate(cover.alike):
        for place in others:
            later = takers.get(place, -1)
            if later > number and _may_swap(network, cover, number, later):
                together = groups.get(number, {number}) | groups.get(later, {later})
                groups |= dict.fromkeys(together, together)
    return {
        number: tuple(sorted({index for each in together for index in cover.chosen[each] or ()}))
        for number, together in groups.items()
    }


def _may_swap(network: LinkNetwork, cover: Cover, first: int, later: int) -> bool:
    """Whether no call in between needs what the first one computes, or is before the later one."""
    early = set(cover.chosen[first] or ())
    return not any(
        need in early
        for place in cover.chosen[first + 1 : later]
        for index in place or ()
        for need in network.needs[index]
    )
