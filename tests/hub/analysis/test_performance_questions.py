"""Questions 1 to 4, 13 to 15, 20, 21 and 23: where the time goes and why, with the clicks allowed.

Questions 16, 17 and 22 are in ``tests/hub/pages/test_comparison_browser.py``.
"""

import pytest
from playwright.sync_api import Page, expect

from tests.hub.analysis.clicks import Visitor
from tests.hub.analysis.scene import AnalysisScene
from tests.programs import needs

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, needs("chromium")]


def test_question_1_what_costs_most(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.perf)
    hottest = visitor.page.locator(".hot-list li").first
    expect(hottest).to_contain_text("call 1")
    expect(hottest).to_contain_text("50.0 %")
    expect(hottest).to_contain_text("± 2.5 %")
    visitor.has_clicked(0)


def test_question_2_why_with_the_number(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.perf)
    visitor.click(visitor.page.locator(".hot-list [data-group='3']"))
    untuned = visitor.page.locator("#inspector [data-reason]").filter(has_text="Not tuned")
    expect(untuned).to_contain_text("yes")
    visitor.sees("call 3", within="#inspector")
    visitor.has_clicked(1)
    visitor.again()
    expect(untuned).to_contain_text("yes")


def test_question_3_which_kernel_who_shares_it_which_nodes(
    visitor: Visitor, scene: AnalysisScene
) -> None:
    visitor.open(scene.perf)
    visitor.click(visitor.page.locator(".hot-list [data-group='2']"))
    visitor.sees("call 2", within="#inspector-title")
    facts = visitor.page.locator("#inspector .inspector-facts")
    expect(facts).to_contain_text("twice")
    expect(facts).to_contain_text("also runs call 3")
    expect(facts).to_contain_text("second")
    visitor.has_clicked(1)


def test_question_4_loops_and_the_decision_that_made_one(
    visitor: Visitor, scene: AnalysisScene
) -> None:
    visitor.open(scene.perf)
    visitor.link("Loops", within="#inspector")
    row = visitor.page.locator("#inspector tr[data-loop='4']")
    expect(row).to_contain_text("vectorised")
    expect(row).to_contain_text("tile of j")
    visitor.has_clicked(2)


def test_question_13_the_sum_and_what_is_not_attributed(
    visitor: Visitor, scene: AnalysisScene
) -> None:
    visitor.open(scene.perf)
    keys = visitor.page.locator(".reconcile-keys")
    for part, share in (
        ("linked to nodes", "85.0 %"),
        ("not linked", "5.0 %"),
        ("between the calls", "10.0 %"),
    ):
        expect(keys.locator("li").filter(has_text=part).first).to_contain_text(share)
    visitor.has_clicked(0)


def test_question_14_nodes_in_another_precision(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.perf)
    row = visitor.page.locator("#row-4")
    expect(row).to_contain_text("bfloat16")
    expect(row).to_contain_text("5")
    expect(visitor.page.locator(".verdict")).to_contain_text("1 call in another")
    visitor.has_clicked(1)


def test_question_15_what_was_folded(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.perf)
    visitor.link("1 computed at build time")
    row = visitor.page.locator("#folded").get_by_role("row").filter(has_text="constant")
    expect(row).to_be_visible()
    expect(row).to_contain_text("4")
    visitor.has_clicked(1)


def test_question_20_what_to_tune_next(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.perf)
    visitor.link("What to tune next")
    # Half of the run, of which 320 of 500 ns are the least: 320 bytes at 1 GB/s.
    first = visitor.page.locator("main table").get_by_role("row").nth(1)
    expect(first).to_contain_text("alice/stars")
    expect(first.get_by_role("cell").nth(2)).to_have_text("18.0 %")
    expect(first.get_by_role("cell").nth(3)).to_have_text("50.0 %")
    visitor.has_clicked(1)


def test_question_21_without_a_mouse(visitor: Visitor, scene: AnalysisScene) -> None:
    """Questions 1 to 4 by the keyboard alone."""
    visitor.open(scene.perf)
    page = visitor.page
    link = page.locator(".hot-list [data-group='3']")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#inspector-title")).to_contain_text("call 3")
    page.locator(".hot-list [data-group='1']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#inspector-title")).to_contain_text("call 1")
    page.locator("#inspector-tab-loops").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#inspector tr[data-loop='4']")).to_contain_text("tile of j")


def test_question_21_as_tables_without_scripts(plain_page: Page, scene: AnalysisScene) -> None:
    plain_page.goto(scene.perf)
    expect(plain_page.locator(".hot-list li").first).to_contain_text("50.0 %")
    plain_page.locator(".hot-list [data-group='3']").click()
    expect(plain_page.locator("#inspector")).to_contain_text("Not tuned")
    plain_page.goto(scene.perf)
    plain_page.locator("#inspector-tab-loops").click()
    expect(plain_page.locator("#inspector tr[data-loop='4']")).to_contain_text("tile of j")
    plain_page.goto(scene.perf)
    plain_page.locator(".graph-table summary").click()
    expect(plain_page.locator(".graph-table")).to_contain_text("third")


def test_question_23_who_else_runs_this_workload(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(scene.perf)
    visitor.link("Peers", within="#inspector")
    visitor.sees("bob/resnet", within="#inspector")
    visitor.has_clicked(2)
