"""Questions about a slow build, answered by pointer, by keyboard and without scripts."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from registry.tables import Build, User
from tests.factories import PASSWORD
from tests.hub.pages.conftest import sign_in
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.drawings import draw
from tests.registry.shopfloor import call_site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
    needs("bundle"),
]


@pytest.fixture
def build() -> Build:
    """The planted profile of ``alice/stars``, and the default's."""
    floor = shopfloor.floor("alice/stars")
    draw(floor.graph, document())
    other = shopfloor.profile(
        call_sites=[call_site("conv", 700, (0, "exact"), precision="float32")],
        kernels=[], total_ns=1000,
    )  # fmt: skip
    return profiles.publish(floor, other, profiles.planted())[1]


def document() -> dict[str, Any]:
    """A chain of six nodes."""
    count = 6
    return {
        "schema": "hpcfair.topology/1", "path": "model.onnx", "format": "onnx",
        "totals": {"nodes": count, "edges": count - 1, "initializers": 0, "bodies": 0},
        "omitted": [], "operators": ["Conv", "Relu", "Gemm"], "dtypes": ["float32"],
        "nodes": {
            "operator": [0, 1, 0, 0, 1, 2], "name": [f"node{n}" for n in range(count)],
            "group": [0] * count, "body": [0] * count, "x": [100] * count,
            "y": [55 + 110 * n for n in range(count)], "macs": [10] * count,
            "parameter_bytes": [0] * count, "inputs": [[n] for n in range(count)],
            "outputs": [[n + 1] for n in range(count)],
        },
        "attributes": [],
        "tensors": {
            "name": [f"t{n}" for n in range(count + 1)], "dtype": [0] * (count + 1),
            "shape": [[4]] * (count + 1),
        },
        "initializers": {"tensor": [], "node": [], "bytes": [], "statistics": []},
        "inputs": [0], "outputs": [count], "bodies": {"node": [-1], "name": ["main"]},
        "edges": {
            "source": list(range(count - 1)), "target": list(range(1, count)),
            "tensor": list(range(1, count)),
        },
        "groups": {"name": [""], "parent": [-1], "kind": ["network"], "alike": [-1]},
        "layout": {"width": 200, "height": 700, "method": "layered", "backward": 0},
    }  # fmt: skip


def test_what_costs_most_and_why_take_at_most_one_click(page: Page, build: Build) -> None:
    # Question 1, without a click: the group, its share and its spread.
    page.goto("/alice/stars/perf")
    first = page.locator(".hot-list li").first
    expect(first).to_contain_text("Conv + Relu")
    expect(first).to_contain_text("50.0 %")
    expect(first).to_contain_text("± 2.5 %")
    # Question 2, with one: the reasons of another group, beside the graph.
    page.locator('.hot-list a[data-group="3"]').click()
    expect(page.locator("#inspector-title")).to_contain_text("call 3")
    expect(page.locator('[data-reason="untuned"].applies')).to_contain_text("compiler's default")
    # The address reproduces the view.
    expect(page).to_have_url(re.compile("group=3"))
    page.reload()
    expect(page.locator("#inspector-title")).to_contain_text("call 3")


def test_loops_lines_and_decisions_are_marked_together(page: Page, build: Build) -> None:
    page.goto("/alice/stars/perf")
    page.locator("#inspector-tab-loops").click()
    row = page.locator('tr[data-loop="4"]')
    expect(row).to_contain_text("vectorised")
    # Question 4: which decision made the innermost loop, and which lines are it.
    row.hover()
    expect(page.locator('.code-line[data-line="10"]')).to_have_class(re.compile(r"\bon\b"))
    expect(row.locator("[data-decision]")).to_contain_text("tile of j")
    # A decision marks all loops that it made.
    row.locator("[data-decision]").hover()
    expect(page.locator("tr[data-loop].on")).to_have_count(2)
    expect(page.locator("[data-ruler] rect").first).to_be_attached()
    # A line marks its loop.
    page.locator('.code-line[data-line="9"]').hover()
    expect(page.locator("tr[data-loop].on")).to_have_count(1)
    expect(page.locator('tr[data-loop="3"]')).to_have_class(re.compile(r"\bon\b"))


def test_the_same_is_reached_by_keyboard(page: Page, build: Build) -> None:
    page.goto("/alice/stars/perf?group=3")
    page.locator('.hot-list a[data-group="1"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator("#inspector-title")).to_contain_text("call 1")
    page.locator("#inspector-tab-loops").focus()
    page.keyboard.press("Enter")
    status = page.locator("[data-linked-status]")
    loops = page.locator("[data-linked-list]")
    loops.focus()
    page.keyboard.press("ArrowDown")
    expect(status).to_contain_text("i_0, 8, parallel")
    page.keyboard.press("ArrowDown")
    expect(page.locator('tr[data-loop="1"]')).to_have_class(re.compile(r"\bon\b"))
    code = page.locator("pre.code")
    code.focus()
    for _ in range(9):
        page.keyboard.press("ArrowDown")
    expect(status).to_contain_text("Line 9: for k in range")
    expect(page.locator('tr[data-loop="3"]')).to_have_class(re.compile(r"\bon\b"))


def test_the_graph_chooses_the_group_and_follows_it(page: Page, build: Build) -> None:
    page.goto("/alice/stars/perf")
    graph = page.locator("[data-graph] svg").first
    graph.wait_for()
    page.evaluate(
        """() => document.querySelector("[data-graph]").dispatchEvent(
             new CustomEvent("graph:select", {bubbles: true, detail: {node: 3, group: "3"}}))"""
    )
    expect(page.locator("#inspector-title")).to_contain_text("call 3")
    expect(page.locator("#row-3")).to_have_class(re.compile("current"))


def test_choices_apply_at_once(page: Page, build: Build) -> None:
    page.goto("/alice/stars/perf")
    page.get_by_label("Heat", exact=True).select_option("time")
    page.wait_for_url(re.compile("metric=time"))
    page.get_by_label("Build", exact=True).select_option(index=1)
    page.wait_for_url(re.compile(f"build=(?!{build.uuid})"))
    expect(page.locator(".verdict")).to_contain_text("the runtime in its defaults")


def test_all_of_it_is_there_without_scripts(plain_page: Page, build: Build) -> None:
    page = plain_page
    page.goto("/alice/stars/perf")
    expect(page.locator(".hot-list li").first).to_contain_text("50.0 %")
    page.locator('.hot-list a[data-group="2"]').click()
    expect(page.locator("#inspector-title")).to_contain_text("call 2")
    page.locator('.hot-list a[data-group="1"]').click()
    page.locator("#inspector-tab-loops").click()
    expect(page.locator('tr[data-loop="4"]')).to_contain_text("level 2 of 2: 16")
    page.get_by_role("link", name="Peers").click()
    expect(page.locator(".inspector-tab")).to_contain_text("1.4 times as fast")
    page.goto("/alice/stars/perf?metric=time")
    page.get_by_label("Heat", exact=True).select_option("share")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("metric=share"))
    # The graph has its table.
    expect(page.locator("[role=treegrid]")).to_contain_text("node5")


def test_who_may_queues_a_search_from_the_list(page: Page, build: Build) -> None:
    alice = User.objects.get(username="alice")
    alice.set_password(PASSWORD)
    alice.save()
    sign_in(page, "alice")
    page.goto("/alice/stars/perf")
    page.get_by_role("link", name="What to tune next").click()
    page.get_by_role("button", name="Search schedules of alice/stars").first.click()
    expect(page.locator("main")).to_contain_text(
        "The search for schedules of alice/stars is queued"
    )
