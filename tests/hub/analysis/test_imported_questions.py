"""What somebody else measured: where its time goes, and beside the hub's own profile."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.hub.analysis.clicks import Visitor
from tests.hub.analysis.scene import AnalysisScene
from tests.programs import needs

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, needs("chromium")]


def test_the_hottest_node_of_somebody_else_is_one_click_away(
    visitor: Visitor, scene: AnalysisScene
) -> None:
    visitor.open("/alice/stars/profiles")
    visitor.link("ONNX Runtime")
    visitor.sees("not by this hub", "a laptop")
    first = visitor.page.locator("table").first.get_by_role("row").nth(1)
    expect(first).to_contain_text("node 3: MatMul")
    expect(first).to_contain_text("58.1 %")
    visitor.has_clicked(1)


def test_a_group_of_the_table_is_selected_in_the_graph(
    visitor: Visitor, scene: AnalysisScene
) -> None:
    visitor.open(f"/profiles/{scene.imported.uuid}")
    visitor.page.locator("[data-graph] svg").first.wait_for()
    visitor.link("node 3: MatMul")
    expect(visitor.page).to_have_url(re.compile(r"#node=3$"))
    overlay = json.loads(visitor.page.locator("#network-overlay").text_content() or "")
    groups = overlay["groups"]
    assert groups["nodes"][groups["value"].index(max(groups["value"]))] == [3]


def test_it_is_put_beside_the_build_of_the_hub(visitor: Visitor, scene: AnalysisScene) -> None:
    visitor.open(f"/profiles/{scene.imported.uuid}")
    page = visitor.page
    page.get_by_label("Build", exact=True).select_option(str(scene.fast.uuid))
    visitor.click(page.get_by_role("button", name="Compare"))
    panel = page.locator("#comparison-panel")
    expect(panel).to_contain_text("Not part of any ranking")
    row = panel.get_by_role("row").filter(has_text="node 3")
    expect(row.first).to_contain_text("150 ns")
    expect(row.first).to_contain_text("90.0 µs")
    visitor.has_clicked(1)
    visitor.again()
    expect(row.first).to_contain_text("90.0 µs")
