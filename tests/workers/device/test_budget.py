"""How long a search and its parts may take."""

import pytest

from tests.workers.tickets import make_ticket
from workers.device.tune import search_budget


@pytest.mark.parametrize(
    ("seconds", "measurement_s", "candidates", "confirmation_s"),
    [(3, 1.5, 1, 3), (10, 3, 2, 10), (20, 3, 2, 15), (60, 3, 3, 30), (600, 4, 3, 300)],
)
def test_a_confirmation_takes_half_of_a_search_and_never_longer_than_a_short_one(
    seconds: float, measurement_s: float, candidates: int, confirmation_s: float
) -> None:
    budget = search_budget(make_ticket(settings={"tune_budget_s": seconds}))
    assert budget.seconds == seconds
    assert budget.seconds_per_measurement == measurement_s
    assert budget.candidates_to_confirm == candidates
    assert budget.confirmation_seconds == confirmation_s
    asked = make_ticket(parameters={"budget_s": 7, "trials": 5}, settings={"tune_budget_s": 60})
    assert (search_budget(asked).seconds, search_budget(asked).trials) == (7, 5)
