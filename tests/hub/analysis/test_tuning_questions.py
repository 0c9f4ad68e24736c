"""Questions 6 to 10: what a search of schedules shows.

The answers are recomputed from the rows, or follow from what is planted: all of the fastest twenty
schedules have an inner width of 16, and nine of the others; trial 170 is the fastest, and improves
on trial 5 by less than 2 %.
"""

import re
from statistics import median

import pytest
from playwright.sync_api import Page, expect
from scipy.stats import spearmanr

from registry.tables import ScheduleTrial
from tests.hub.analysis.clicks import Visitor
from tests.hub.analysis.scene import AnalysisScene
from tests.programs import needs

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, needs("chromium")]


@pytest.fixture(scope="module")
def trials(scene: AnalysisScene) -> list[ScheduleTrial]:
    """All trials of the search, in order."""
    return list(scene.task.trials.order_by("number"))


def time_of(trial: ScheduleTrial) -> float | None:
    """Median seconds of a trial; ``None`` for failures and sentinels."""
    middle = median(trial.seconds) if trial.seconds else None
    return middle if middle is not None and middle < 1e9 else None


def test_question_6_what_the_fastest_have_in_common(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.workload)
    visitor.link("5 %", within="#decisions")
    findings = visitor.page.locator("#decisions .findings")
    expect(findings).to_contain_text(
        "inner width of ff 16: 100 % of the fastest 5 % against 2 % of the rest "
        "(q < 0.001, n = 396)"
    )
    visitor.has_clicked(1)
    visitor.again()
    expect(findings).to_contain_text("of the fastest 5 % against")


def test_question_7_was_it_still_improving(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.workload)
    visitor.sees("no gain in the last 394 trials", within="#outcome")
    visitor.has_clicked(0)


def test_question_8_can_the_cost_model_be_trusted(
    visitor: Visitor, scene: AnalysisScene, trials: list[ScheduleTrial]
) -> None:
    pairs = [
        (-trial.predicted, time)
        for trial in trials
        if trial.predicted is not None and (time := time_of(trial)) is not None
    ]
    correlation = spearmanr(*zip(*pairs, strict=True)).statistic
    visitor.open(scene.workload)
    shown = re.search(
        r"all rounds together: (-?\d\.\d\d)", visitor.page.locator("#model").inner_text()
    )
    assert shown is not None
    assert float(shown[1]) == pytest.approx(correlation, abs=0.006)
    visitor.sees("recall of the fastest 4", "388 to 399", within="#model")
    visitor.has_clicked(0)


def test_question_9_how_many_failed_and_why(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.workload)
    visitor.click(visitor.page.locator("#outcome").get_by_role("link", name="crash"))
    visitor.sees("crash: 3 of 400", "no such block", "no valid time: 1 of 400", within="#failures")
    expect(visitor.page.locator("main")).not_to_contain_text("10000000000")
    visitor.has_clicked(1)


def test_question_10_schedules_as_good_as_the_best(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.workload)
    visitor.click(visitor.page.locator("#outcome").get_by_role("link", name="equal"))
    verdicts = visitor.page.locator("#equals")
    expect(verdicts).to_contain_text("equal within noise")
    expect(verdicts).to_contain_text("compared with trial 170.")
    expect(verdicts.get_by_role("row").nth(1)).to_contain_text("equal")
    visitor.has_clicked(1)


def test_question_22_every_trial_can_be_taken_away(
    visitor: Visitor, scene: AnalysisScene, trials: list[ScheduleTrial]
) -> None:
    visitor.open(scene.workload)
    with visitor.page.expect_download() as download:
        visitor.click(visitor.page.locator("#about").get_by_role("link", name="CSV"))
    text = download.value.path().read_text()
    assert scene.workload in text
    assert sum(not line.startswith("#") for line in text.splitlines()) == len(trials) + 1
    visitor.has_clicked(2)


def test_they_are_answered_without_scripts(plain_page: Page, scene: AnalysisScene) -> None:
    plain_page.goto(scene.workload)
    for text in (
        "inner width of ff 16",
        "in the last 394 trials",
        "crash: 3 of 400",
        "equal within",
    ):
        expect(plain_page.locator("main")).to_contain_text(text)
