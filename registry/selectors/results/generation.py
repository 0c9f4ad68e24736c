"""How fast builds of decoders generate, for the page of their model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from registry.selectors.results.comparison import TargetComparison
from registry.selectors.results.speed import InputShape, context_of
from registry.tables import Build, Graph, Record


@dataclass(frozen=True, slots=True)
class GenerationFigures:
    """Figures of a build after a prompt of ``context`` tokens."""

    context: int
    first_token_ns: float
    tokens_per_s: float

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From an entry of ``generation`` of a benchmark record."""
        figures = (float(data[name]) for name in ("first_token_ns", "tokens_per_s"))
        return cls(int(data["context"]), *figures)


@dataclass(frozen=True, slots=True)
class BuildGeneration:
    """A build with its figures by context."""

    build: Build
    figures: tuple[GenerationFigures, ...]


def generation_of(graph: Graph, comparison: TargetComparison) -> list[BuildGeneration]:
    """The default and the offers of a comparison whose records have such figures; none of a network
    that is no decoder."""
    if context_of(list(map(InputShape.from_json, graph.signature["inputs"]))) is None:
        return []
    default = () if comparison.default is None else (comparison.default,)
    builds = list(dict.fromkeys((*default, *comparison.offers)))
    names = ("pk", "document__generation")
    records = Record.objects.filter(pk__in=[build.record_id for build in builds])
    stated = dict(records.values_list(*names))
    return [
        BuildGeneration(build, tuple(map(GenerationFigures.from_json, entries)))
        for build in builds
        if (entries := stated.get(build.record_id))
    ]
