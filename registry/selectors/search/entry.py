"""Entries of the catalogue: what cards and lists show of the models on a page."""

from dataclasses import dataclass

from registry.scenarios import Scenario
from registry.search.documents import fair_scores
from registry.selectors.repository.head import heads_of
from registry.selectors.search.catalogue import CataloguePage
from registry.selectors.search.similarity import Similarity
from registry.selectors.search.speeds import (
    Speed,
    TuningState,
    best_rows,
    scenario_of,
    speeds_in,
    states_at,
)
from registry.selectors.search.summary import Summary, summaries_at
from registry.states import ToleranceClass

_STRICTEST, *_, _LAXEST = ToleranceClass


@dataclass(frozen=True, slots=True)
class CatalogueEntry(Summary):
    """A model in a search result, at the head of its default branch.

    Attributes:
        state: How far it is tuned.
        speed: Of its best build on the target of the query, within its tolerance class; on the
            target of the lowest latency if the query names none or several. A query by throughput
            is on builds for many samples. ``None`` without a build.
        fair_percent: FAIR score in percent; ``None`` before the first assessment.
        similarity: To the model of ``similar``; ``None`` without it.
    """

    state: TuningState
    speed: Speed | None
    fair_percent: float | None
    similarity: Similarity | None


def entries_of(page: CataloguePage) -> list[CatalogueEntry]:
    """Entries of the models on a page, in its order; a constant number of queries."""
    items, query = page.items, page.query
    target = query.targets[0] if len(query.targets) == 1 else None
    heads = heads_of(items)
    # Whoever has a best build has one of the laxest class.
    tolerances = {_STRICTEST, query.accepted_tolerance, _LAXEST}
    scenario = scenario_of(query)
    every = best_rows(items, tolerances, {Scenario.SINGLE_STREAM, scenario})
    speeds = speeds_in(every, target, query.accepted_tolerance, scenario)
    rows = [row for row in every if row.scenario == Scenario.SINGLE_STREAM]
    tuned = {row.mlmodel_id for row in rows}
    states = states_at({mlmodel.pk: heads.get(mlmodel.pk) for mlmodel in items}, tuned)
    ratios: dict[int, dict[str, float]] = {}
    for row in sorted(rows, key=lambda row: row.target.slug):
        if row.tolerance == _STRICTEST and row.mlmodel_id in heads:
            ratios.setdefault(heads[row.mlmodel_id].pk, {})[row.target.slug] = row.ratio
    scores = fair_scores(list(heads), [revision.pk for revision in heads.values()])
    return [
        CatalogueEntry(
            mlmodel=summary.mlmodel,
            revision=summary.revision,
            graph=summary.graph,
            builds=summary.builds,
            state=states[summary.mlmodel.pk],
            speed=speeds.get(summary.mlmodel.pk),
            fair_percent=scores.get(summary.mlmodel.pk),
            similarity=page.similarities.get(summary.mlmodel.pk),
        )
        for summary in summaries_at(items, heads, ratios)
    ]
