"""How well a cost model ranked: no chart where any ranking would look perfect."""

import pytest

from hub.pages import chart
from registry.selectors.analysis.evidence import ROUND_TOP, PredictionRound
from tests.hub.pages.chart.checks import checked


@pytest.mark.parametrize("trials", [1, ROUND_TOP])
def test_a_round_of_few_predictions_has_no_chart(trials: int) -> None:
    assert chart.model_by_round([PredictionRound(0, trials, trials, None, None)]) is None


def test_a_round_has_its_correlation_and_what_chance_would_find() -> None:
    made = checked(chart.model_by_round([PredictionRound(0, 15, 16, 0.5, 0.75)]))
    assert "Each round has 16 trials" in made.caption
    assert "finds 4/16 of the fastest 4" in made.caption
