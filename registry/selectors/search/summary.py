"""Summaries of MLModels for lists, read for a whole page at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import prefetch_related_objects

from registry.search import signature as signatures
from registry.selectors.results.best import best_ratios
from registry.tables import Graph, MLModel, Revision


@dataclass(frozen=True, slots=True)
class Summary:
    """An MLModel with facts of one of its revisions.

    Attributes:
        graph: The revision's primary graph; ``None`` before inspection.
        builds: Slug of a target to the ratio of its best float32-exact build; 1 for the baseline.
    """

    mlmodel: MLModel
    revision: Revision | None
    graph: Graph | None
    builds: dict[str, float]

    @property
    def signature(self) -> str | None:
        """Such as ``float32[N,3,64,64] -> float32[N,10]``; ``None`` before inspection."""
        return str(signatures.of_facts(self.graph.signature)) if self.graph else None

    @property
    def parameters(self) -> int | None:
        """Number of parameters of the network, or else of the safetensors files."""
        return self.graph.parameters if self.graph else self.mlmodel.parameters

    @property
    def tags(self) -> list[str]:
        """The card's keywords."""
        return [tag.value for tag in self.mlmodel.tags.all()]


def summary_of(mlmodel: MLModel, revision: Revision) -> Summary:
    """The summary of an MLModel at one of its revisions."""
    return summaries_at([mlmodel], {mlmodel.pk: revision}, best_ratios([revision]))[0]


def summaries_at(
    mlmodels: Sequence[MLModel],
    revisions: Mapping[int, Revision],
    ratios: Mapping[int, dict[str, float]],
) -> list[Summary]:
    """Summaries of MLModels in the given order; a constant number of queries.

    Args:
        revisions: By key of the MLModel.
        ratios: ``Summary.builds`` by key of the revision.
    """
    prefetch_related_objects(list(mlmodels), "tags")
    heads = list(revisions.values())
    graphs = Graph.objects.filter(revision__in=heads, is_primary=True).order_by("-path")
    # Of several primary graphs the first by path is used, as by graph_of.
    graph_of = {graph.revision_id: graph for graph in graphs.defer("embedding")}
    return [
        Summary(
            mlmodel,
            revision,
            graph_of.get(revision.pk) if revision else None,
            ratios.get(revision.pk, {}) if revision else {},
        )
        for mlmodel in mlmodels
        for revision in [revisions.get(mlmodel.pk)]
    ]
