"""The builds of one network on one target, as offers to people. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hpcfair.choice import best_of_each_class
from hpcfair.outputlimits import BuildFacts
from registry.states import ToleranceClass

#: Dimensions of a decoder's cache: batch, heads, tokens, size.
_CACHE_RANK = 4


@dataclass(frozen=True, slots=True)
class InputShape:
    """An input of a measurement: its name, element type and sizes."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From an entry of ``identity.inputs`` of a benchmark record."""
        return cls(str(data["name"]), str(data["dtype"]), tuple(data["shape"]))

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{','.join(map(str, self.shape))}]"


def offers_of(builds: Collection[BuildFacts]) -> list[BuildFacts]:
    """The build that each tolerance class brings, strictest class first.

    A class is left out where a stricter one brings the same build. Its own class is therefore the
    strictest one that a user must accept for a build. The first is the default if no build of the
    strictest class is proved faster.
    """
    return list(dict.fromkeys(best_of_each_class(builds).values()))


def classes_without_offer(builds: Collection[BuildFacts]) -> list[ToleranceClass]:
    """Tolerance classes of which builds are published, but none is the best of its class."""
    offered = {build.tolerance for build in offers_of(builds)}
    published = {build.tolerance for build in builds}
    return [tolerance for tolerance in ToleranceClass if tolerance in published - offered]


def context_of(inputs: Sequence[InputShape]) -> int | None:
    """Tokens in the cache of a decoder in a measurement, for which a run computes further ones;
    ``None`` of other networks."""
    cache = (one.shape for one in inputs if one.name.startswith("past_key_values."))
    return next((shape[2] for shape in cache if len(shape) == _CACHE_RANK), None)


def batch_of(inputs: Sequence[InputShape], declared: Sequence[Mapping[str, Any]]) -> int | None:
    """The batch size of a measurement.

    It is the first dimension of the first input, if the network leaves that open or it is 1 of
    several.

    Args:
        declared: The inputs of the network's signature, as ``Graph.signature`` has them.

    Returns:
        ``None`` for networks whose first dimension has another fixed size, which may be anything.
    """
    dims = declared[0].get("shape") if declared else None
    if not inputs or not inputs[0].shape or not dims:
        return None
    size, first = inputs[0].shape[0], dims[0]
    is_batch = not isinstance(first, int) or (first == 1 and len(inputs[0].shape) > 1)
    return size if is_batch else None
