"""Whether a profile is one of this network at all."""

from dataclasses import dataclass

#: Least share of the convolutions and products, of the network and of the profile, that must be
#: matched; of all calls; and of the shapes that both state.
LEAST_HEAVY, LEAST_CALLS, LEAST_SHAPES = 0.8, 0.5, 0.5


@dataclass(frozen=True, slots=True)
class LinkFit:
    """Counts of what could be matched before anything was filled in.

    Attributes:
        calls, linked: Calls that compute something, and those of them with a place.
        heavy_calls, heavy_linked: Of these the convolutions and products.
        heavy_nodes, heavy_found: The network's convolutions and products, and those of them that a
            call computes.
        shapes, shapes_equal: Calls whose output shape both sides state, and equal ones.
        named: Linked calls whose nodes the profile names.
        doubtful: Linked calls that could equally be at another place.
    """

    calls: int
    linked: int
    heavy_calls: int
    heavy_linked: int
    heavy_nodes: int
    heavy_found: int
    shapes: int = 0
    shapes_equal: int = 0
    named: int = 0
    doubtful: int = 0

    @property
    def is_same(self) -> bool:
        """Whether enough fits to take the profile for one of this network."""
        return (
            self.linked > 0
            and self.linked >= LEAST_CALLS * self.calls
            and self.heavy_linked >= LEAST_HEAVY * self.heavy_calls
            and self.heavy_found >= LEAST_HEAVY * self.heavy_nodes
            and self.shapes_equal >= LEAST_SHAPES * self.shapes
        )

    def __str__(self) -> str:
        parts = [f"{self.linked} of {self.calls} calls have a place in the network"]
        if self.heavy_calls or self.heavy_nodes:
            parts.append(
                f"{self.heavy_linked} of the profile's {self.heavy_calls} and {self.heavy_found} "
                f"of the network's {self.heavy_nodes} convolutions and products are matched"
            )
        if self.shapes:
            parts.append(f"{self.shapes_equal} of {self.shapes} stated shapes agree")
        return "; ".join(parts)
