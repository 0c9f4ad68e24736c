"""The graph of a network in a browser: walked by keys, searched, opened, linked to, exported."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from hub.pages.topology import overlay_columns
from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel
from tests.hub.pages.test_topology import long_network
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.drawings import document_of, draw
from tests.workers.inspection.networks import Net

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
    needs("bundle"),
]
PAGE = "/lab/galaxy-cnn/graph"
#: What a page lays over: the products of two nodes each, one inferred, and a folded node.
OVERLAY = {
    "metric": "share of time", "unit": "%", "folded": [6],
    "groups": [
        {"id": "0", "label": "Conv + Relu", "nodes": [0, 1], "value": 20.0, "text": "20 %",
         "grade": "exact", "marks": ["untuned"]},
        {"id": "1", "label": "Conv + Relu", "nodes": [2, 3], "value": 70.0, "text": "70 %",
         "grade": "inferred", "marks": []},
    ],
}  # fmt: skip


def small_network() -> dict[str, Any]:
    """Conv, Relu, Conv, Relu, GlobalAveragePool, Flatten, Gemm."""
    net = Net()
    x = net.op("Relu", net.conv("x", 3, 8), name="/first/<b>Relu</b>")
    x = net.op("Relu", net.conv(x, 8, 8))
    return document_of(net.model([net.head(x, 8)]))


@pytest.fixture
def network(galaxy: MLModel) -> dict[str, Any]:
    document = small_network()
    draw(shopfloor.make_graph(revision_get(galaxy)), document)
    return document


def ready(page: Page, address: str = PAGE) -> Locator:
    page.goto(address)
    page.locator("[data-graph][data-ready]").wait_for()
    return page.locator(".graph-svg")


def lay_over(page: Page) -> None:
    """Lay :data:`OVERLAY` over the network, as a page with one is served."""

    def serve(route: Any) -> None:
        response = route.fetch()
        columns = json.dumps(overlay_columns(OVERLAY))
        data = f'<script type="application/json" id="over">{columns}</script>'
        body = response.text().replace('data-overlay=""', 'data-overlay="over"')
        route.fulfill(response=response, body=body.replace("<main", f"{data}<main", 1))

    page.route("**/graph", serve)


def box(page: Page, key: str) -> Locator:
    return page.locator(f'.graph-box[data-key="{key}"]')


@pytest.mark.usefixtures("network")
def test_the_graph_is_walked_by_keys(page: Page) -> None:
    ready(page)
    page.locator('.graph-box[tabindex="0"]').focus()
    page.keyboard.press("Home")
    expect(box(page, "i0")).to_be_focused()
    for key in ("n0", "n1", "n2"):
        page.keyboard.press("ArrowDown")
        expect(box(page, key)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(box(page, "n1")).to_be_focused()
    # One stop in the order of tabs.
    expect(page.locator('.graph-box[tabindex="0"]')).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".graph-details h3")).to_have_text("Relu")
    expect(page.locator(".graph-details")).to_contain_text("/first/<b>Relu</b>")
    expect(page).to_have_url(re.compile("#node=1$"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("#."))
    page.keyboard.press("End")
    expect(box(page, "o0")).to_be_focused()


@pytest.mark.usefixtures("network")
def test_nodes_are_found_by_name_operator_and_tensor(page: Page) -> None:
    ready(page)
    page.locator('.graph-box[tabindex="0"]').focus()
    page.keyboard.press("/")
    find = page.get_by_role("combobox", name="Find nodes")
    expect(find).to_be_focused()
    find.fill("gemm")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(box(page, "n6")).to_be_focused()
    expect(page).to_have_url(re.compile("#node=6$"))
    find.fill("<b>")
    expect(page.get_by_role("option")).to_have_text(re.compile("Relu.*first/<b>Relu</b>"))
    find.fill("nothing of the kind")
    expect(page.locator(".graph-hits-count")).to_have_text("0 hits")
    page.keyboard.press("Escape")
    expect(page.locator(".graph-hits")).to_be_hidden()


@pytest.mark.usefixtures("network")
def test_an_address_leads_to_a_node_and_follows_the_choice(page: Page) -> None:
    ready(page, f"{PAGE}#node=2")
    expect(page.locator(".graph-details h3")).to_have_text("Conv")
    expect(page.locator(".graph-details")).to_contain_text("kernel_shape")
    expect(page.locator(".graph-histogram").first).to_have_attribute("role", "img")
    page.evaluate("location.hash = '#node=4'")
    expect(page.locator(".graph-details h3")).to_have_text("GlobalAveragePool")
    box(page, "n5").click()
    expect(page).to_have_url(re.compile("#node=5$"))
    page.evaluate("location.hash = '#node=99999'")
    page.evaluate("location.hash = '#node=%F0'")
    expect(page.locator(".graph-details h3")).to_have_text("Flatten")


@pytest.mark.usefixtures("network")
def test_values_are_laid_over_and_the_hottest_come_first(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 1500})
    lay_over(page)
    ready(page)
    page.evaluate("addEventListener('graph:select', e => { window.chosen = e.detail; })")
    expect(box(page, "n2")).to_have_attribute("aria-label", re.compile("70 %.*link inferred"))
    expect(box(page, "n0")).to_have_attribute("aria-label", re.compile("20 %.*untuned"))
    expect(box(page, "n4")).to_have_attribute("aria-label", re.compile("no data"))
    expect(box(page, "n6")).to_have_class(re.compile("h-folded"))
    expect(page.locator(".graph-hull")).to_have_count(2)
    fills = [box(page, f"n{n}").locator(".graph-face").get_attribute("fill") for n in (0, 1, 2)]
    assert fills[0] == fills[1] != fills[2]
    page.locator('.graph-box[tabindex="0"]').focus()
    page.keyboard.press("n")
    expect(box(page, "n2")).to_be_focused()
    assert page.evaluate("window.chosen") == {"node": None, "group": "1"}
    expect(page).to_have_url(re.compile("#group=1$"))
    page.keyboard.press("n")
    expect(box(page, "n0")).to_be_focused()
    page.keyboard.press("p")
    expect(box(page, "n2")).to_be_focused()
    page.evaluate("document.querySelector('[data-graph]').graph.select({node: 1})")
    assert page.evaluate("window.chosen") == {"node": 1, "group": "0"}
    expect(page.locator(".graph-legend")).to_contain_text("share of time")
    before = box(page, "n0").locator(".graph-face").get_attribute("fill")
    page.get_by_label("Scale of the colours").select_option("linear")
    expect(box(page, "n0").locator(".graph-face")).not_to_have_attribute("fill", str(before))


@pytest.mark.usefixtures("network")
def test_the_graph_is_exported_with_the_address_of_its_page(page: Page, tmp_path: Path) -> None:
    ready(page)
    for kind, mark in (("SVG", b"<svg"), ("JSON", b'{"page"'), ("PNG", b"\x89PNG")):
        page.locator(".graph-menu summary", has_text="Export").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Download as {kind}").click()
        place = tmp_path / download.value.suggested_filename
        download.value.save_as(place)
        assert place.name == f"model.onnx.{kind.lower()}"
        data = place.read_bytes()
        assert data.startswith(mark)
        assert kind == "PNG" or PAGE.encode() in data
    assert b"&lt;b&gt;Relu" in (tmp_path / "model.onnx.svg").read_bytes()


def test_a_large_network_opens_group_by_group(page: Page, galaxy: MLModel) -> None:
    draw(shopfloor.make_graph(revision_get(galaxy)), long_network(5000))
    ready(page)
    status = page.locator(".graph-status")
    expect(status).to_have_text(re.compile(r"Showing \d+ of 5,000 nodes, the others in \d+ closed"))
    live = "Number(document.querySelector('.graph-stage').dataset.live)"
    assert page.evaluate(live) <= 300
    # What is hidden in closed groups is shown when it is chosen.
    page.evaluate("document.querySelector('[data-graph]').graph.select({node: 3333, focus: true})")
    expect(box(page, "n3333")).to_be_focused()
    page.keyboard.press("c")
    closed = page.locator('.graph-box[aria-expanded="false"]:focus')
    expect(closed).to_have_count(1)
    page.keyboard.press(" ")
    expect(closed).to_have_count(0)
    page.get_by_role("button", name="Open all groups").click()
    expect(status).to_have_text("Showing all 5,000 nodes.")
    page.get_by_role("button", name="Show the whole graph").click()
    page.wait_for_function(f"{live} <= 300")
    assert page.locator(".graph-box").count() <= 300


@pytest.mark.usefixtures("network")
def test_the_table_is_walked_by_keys_and_chooses_nodes(page: Page) -> None:
    ready(page)
    page.locator(".graph-table summary").click()
    rows = page.locator('[role="treegrid"] tbody tr')
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#node=2$"))
    page.keyboard.press("Home")
    expect(rows.first).to_be_focused()


@pytest.mark.usefixtures("network")
def test_without_scripts_the_table_has_all_nodes(plain_page: Page) -> None:
    plain_page.goto(PAGE)
    plain_page.locator(".graph-table summary").click()
    expect(plain_page.locator("[data-node]")).to_have_count(7)
    expect(plain_page.get_by_text("Without JavaScript, use the table below")).to_be_visible()


@pytest.mark.usefixtures("network")
def test_a_topology_that_cannot_be_loaded_is_said(loose_page: Page) -> None:
    loose_page.route("**/graph/data*", lambda route: route.abort())
    loose_page.goto(PAGE)
    expect(loose_page.get_by_text("The graph could not be loaded")).to_be_visible()
