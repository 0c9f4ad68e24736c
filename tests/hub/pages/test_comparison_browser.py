"""Comparing builds in a browser: questions with planted answers, and the clicks that they take."""

import re

import pytest
from playwright.sync_api import Page, expect

from registry.tables import Build, User
from tests.hub.analysis.clicks import Visitor
from tests.hub.pages.revisions import two_revisions
from tests.hub.pages.tuning import floor_of, make_digits
from tests.programs import needs
from tests.registry.analysis.comparisons import DEFAULT_CALLS, FUSED_CALLS, published
from tests.registry.analysis.test_roofline import plant_roofs, plant_topology
from tests.registry.shopfloor import call_site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
]


@pytest.fixture
def builds(alice: User) -> list[Build]:
    """The default, an exact build that wins on nodes 0 and 1, and a cheaper int8 one."""
    return published(
        floor_of(make_digits(alice)),
        calls={"all": DEFAULT_CALLS, "half": FUSED_CALLS},
        half={"ratio": 0.8, "p50_ns": 3_200_000, "accuracy": 0.99},
        two={"ratio": 0.5, "p50_ns": 2_000_000, "tolerance": "int8", "accuracy": 0.97},
    )


def test_question_16_who_wins_a_group_by_how_much_in_which_precision(
    page: Page, builds: list[Build]
) -> None:
    visitor = Visitor(page)
    visitor.open("/alice/digits")
    visitor.link("Builds")
    visitor.link("Compare these builds")
    visitor.has_clicked(2)
    row = page.get_by_role("row").filter(has_text="nodes 0–1: Conv, Relu, ConvRelu")
    expect(row).to_contain_text("precision differs")
    expect(row).to_contain_text("70.0 µs float32")
    expect(row).to_contain_text("20.0 µs (fastest) bfloat16")
    expect(row).to_contain_text("−50.0 µs")
    # The address reproduces the view.
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(row).to_contain_text("−50.0 µs")


def test_question_17_the_cheapest_within_limits(page: Page, builds: list[Build]) -> None:
    visitor = Visitor(page)
    visitor.open("/compare?model=alice/digits")
    page.get_by_label("Accuracy at least").fill("0.98")
    page.get_by_label("Latency at most, ms").fill("5")
    visitor.click(page.get_by_role("button", name="Compare"))
    visitor.has_clicked(2)
    answer = page.locator(".compare-answer")
    expect(answer).to_contain_text("x86-64-avx512, onnxruntime")
    expect(answer.get_by_role("link")).to_have_attribute("href", f"/builds/{builds[1].uuid}")


def test_question_22_the_data_can_be_taken_away(page: Page, builds: list[Build]) -> None:
    visitor = Visitor(page)
    visitor.open("/compare?model=alice/digits")
    with page.expect_download() as started:
        visitor.link("Groups as CSV")
    visitor.has_clicked(2)
    text = started.value.path().read_text()
    assert "0 1,Conv Relu ConvRelu,70000,float32,20000,bfloat16" in text


def test_builds_are_put_aside_and_compared(page: Page, builds: list[Build]) -> None:
    page.goto("/alice/digits/builds")
    tray = page.get_by_role("complementary", name="Builds to compare")
    expect(tray).to_be_hidden()
    for build in builds[:2]:
        page.locator(f'[data-compare="{build.uuid}"]').click()
    expect(tray).to_contain_text("2 builds")
    # Put aside also on other pages, and after another visit.
    page.goto(f"/builds/{builds[0].uuid}")
    expect(page.locator(f'[data-compare="{builds[0].uuid}"]')).to_have_text("Added")
    tray.get_by_role("link", name="Compare").click()
    page.wait_for_url(f"**/compare?build={builds[0].uuid}&build={builds[1].uuid}")
    expect(page.get_by_role("heading", name="Where the builds differ")).to_be_visible()
    tray.get_by_role("button", name="Clear").click()
    expect(tray).to_be_hidden()


def test_without_scripts_a_build_is_a_link_and_the_form_works(
    plain_page: Page, builds: list[Build]
) -> None:
    page = plain_page
    page.goto("/alice/digits/builds")
    page.locator(f'[data-compare="{builds[0].uuid}"]').click()
    expect(page).to_have_url(re.compile(f"/compare\\?build={builds[0].uuid}$"))
    page.get_by_label("Models, separated by commas").fill("alice/digits")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Where the builds differ")).to_be_visible()
    expect(page.get_by_role("cell", name="onnxruntime int8").first).to_be_visible()


def test_question_18_what_changed_between_two_revisions_by_group(page: Page, alice: User) -> None:
    two_revisions(alice)
    visitor = Visitor(page)
    visitor.open("/alice/digits")
    visitor.link("History")
    visitor.link("Compare")
    visitor.has_clicked(2)
    row = page.get_by_role("row").filter(has_text="node 0: Conv")
    expect(row).to_contain_text("60.0 µs")
    expect(row).to_contain_text("−40.0 µs")
    expect(page.get_by_text("1 added, 0 removed, 1 changed")).to_be_visible()


def test_question_19_how_far_from_the_roof_and_what_reaching_it_saves(
    page: Page, alice: User
) -> None:
    floor = floor_of(make_digits(alice))
    plant_roofs(floor.device)
    plant_topology(floor)
    calls = [call_site("conv", 40_000, (0, "exact"), precision="float32"),
             call_site("gemm", 60_000, (2, "exact"), operator="Gemm")]  # fmt: skip
    published(floor, calls={"all": calls})
    visitor = Visitor(page)
    visitor.open("/alice/digits")
    visitor.link("Builds")
    visitor.link("Profile of this build: onnxruntime, exact")
    visitor.has_clicked(2)
    # Half of the 40 µs of the convolution is above its roof: a fifth of the profile.
    expect(page.locator("#roofline")).to_contain_text("3.20 ms instead of 4.00 ms")
    page.locator("#roofline").get_by_text("As a table").click()
    row = page.locator("#roofline").get_by_role("row").filter(has_text="conv")
    expect(row).to_contain_text("50.0 %")
    expect(row).to_contain_text("arithmetic")
