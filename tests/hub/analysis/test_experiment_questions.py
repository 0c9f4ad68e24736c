"""Questions 5, 11 and 12: effects of decisions, schedules of other targets, principles."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from registry.services.analysis.crossapplication import cross_application_add, cross_submit
from registry.services.analysis.principle import principles_compute
from registry.states import JobKind
from registry.tables import Principle, ScheduleTrial
from tests.hub.analysis.clicks import Visitor
from tests.hub.analysis.scene import AnalysisScene
from tests.hub.pages.test_experiment import ablated
from tests.programs import needs
from tests.registry.analysis.planted import search
from tests.registry.analysis.workloads import claim, comparison, searched

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, needs("chromium")]


@dataclass(frozen=True)
class Experiments:
    """An ablation in which a tile costs 1.8 times when it is reverted, a cross-application that
    loses 35 %, and a principle of three workloads."""

    best: ScheduleTrial
    principle: Principle

    @property
    def workload(self) -> str:
        """Address of the page of the ablated workload."""
        return f"/workloads/{self.best.task.uuid}"


@pytest.fixture(scope="module")
def experiments(scene: AnalysisScene) -> Experiments:
    """Made once for the file."""
    best = searched()
    other = searched(target="x86-64-v3", decisions=[[2, [1, 4, 2, 8]], [3, 1]])
    ablated(best)
    cross_submit(actor=None, task=best.task)
    ticket = claim(JobKind.CROSS)
    application = comparison(best, 1.35) | {"source": str(other.uuid)}
    cross_application_add(job_uuid=ticket.job_uuid, fence=ticket.fence, application=application)
    for number in range(3):
        search(number)
    principles_compute()
    rows = Principle.objects.filter(words__endswith="64 iterations, or longer ones, are unrolled")
    return Experiments(best, rows.get())


def test_question_5_which_decision_helped_and_is_it_causal(
    visitor: Visitor, experiments: Experiments
) -> None:
    visitor.open(experiments.workload)
    panel = visitor.page.locator("section").filter(has_text="Which decisions matter").first
    expect(panel).to_contain_text("Causal: reverting tile of")
    expect(panel).to_contain_text("costs 1.8×")
    expect(panel).to_contain_text("not an association")
    visitor.has_clicked(0)


def test_question_11_does_the_schedule_of_another_target_work_here(
    visitor: Visitor, experiments: Experiments
) -> None:
    visitor.open(experiments.workload)
    row = visitor.page.locator("table.cross").get_by_role("row").filter(has_text="x86-64-v3")
    expect(row.last).to_contain_text("1.35")
    expect(row.last).to_contain_text("+35 %")
    visitor.has_clicked(0)


def test_question_12_which_principles_hold_and_where_not(
    visitor: Visitor, experiments: Experiments
) -> None:
    visitor.open("/principles")
    visitor.click(
        visitor.page.locator("#published")
        .locator("..")
        .get_by_role("link", name=experiments.principle.words)
    )
    visitor.sees("Support 3", "Counter-examples", "published")
    visitor.has_clicked(1)
    visitor.again()
    visitor.sees("Support 3")
