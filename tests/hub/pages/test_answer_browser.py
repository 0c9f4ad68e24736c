"""The speed of a model in a browser: marks, tolerances and snippets belong together."""

import re

import pytest
from playwright.sync_api import Page, expect

from registry.tables import Build
from tests.programs import needs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
]
PATH = "/alice/digits"
INT8 = 'm = hpcfair.load("alice/digits", tolerance="int8")'
BY_ERROR = 'm = hpcfair.load("alice/digits", tolerance=0.014)'
#: Chooses the mark of a build, as a click on it does.
SELECT = """id => document.querySelector('[data-chart="pareto"]').dispatchEvent(
    new CustomEvent("chart:select", { detail: { id }, bubbles: true }))"""


@needs("bundle")
def test_a_chosen_mark_changes_the_snippet(page: Page, tuned_digits: list[Build]) -> None:
    page.goto(PATH)
    page.locator('[data-chart="pareto"][data-drawn]').wait_for()
    expect(page.get_by_text(INT8)).to_be_hidden()
    # The fastest build is the first mark from the left, and the one of class int8.
    fastest = next(build for build in tuned_digits if build.tolerance == "int8")
    page.evaluate(SELECT, str(fastest.uuid))
    expect(page.get_by_role("radio", name="int8")).to_be_checked()
    expect(page.get_by_text(INT8)).to_be_visible()
    expect(page.locator(".offer-mark")).to_contain_text("2.1 times as fast")
    expect(page.get_by_text("pip install 'hpcfair[openvino,verify]'").first).to_be_visible()
    # It is also loaded by its error.
    expect(page.get_by_text(BY_ERROR)).to_be_visible()
    exact = next(build for build in tuned_digits if build.ratio == 0.8)
    page.evaluate(SELECT, str(exact.uuid))
    expect(page.get_by_text(BY_ERROR)).to_be_hidden()


@needs("bundle")
def test_marks_are_chosen_by_keyboard(page: Page, tuned_digits: list[Build]) -> None:
    page.goto(PATH)
    page.locator('[data-chart="pareto"][data-drawn]').wait_for()
    page.locator("#pareto-plot").focus()
    for _ in tuned_digits:
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(page.locator(".offer-mark > :not([hidden])")).to_have_count(1)


def test_tolerances_are_chosen_by_keyboard_without_scripts(
    plain_page: Page, tuned_digits: list[Build]
) -> None:
    page = plain_page
    page.goto(PATH)
    expect(page.get_by_text(INT8)).to_be_hidden()
    page.get_by_role("radio", name="exact").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="int8")).to_be_checked()
    expect(page.get_by_text(INT8)).to_be_visible()
    page.get_by_role("radio", name="Python").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("hpcfair load alice/digits --tolerance int8")).to_be_visible()


def test_a_build_is_loaded_by_its_error_by_keyboard_without_scripts(
    plain_page: Page, tuned_digits: list[Build]
) -> None:
    page = plain_page
    page.emulate_media(color_scheme="dark")
    page.goto(PATH)
    expect(page.get_by_text(BY_ERROR)).to_be_hidden()
    page.locator(".prices summary").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(BY_ERROR)).to_be_visible()


def test_the_answer_comes_first_on_a_phone(page: Page, tuned_digits: list[Build]) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(PATH)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    offers = page.locator(".offers").bounding_box()
    chart = page.locator(".answer-chart").bounding_box()
    assert offers is not None
    assert chart is not None
    assert offers["y"] < chart["y"]


def test_a_target_is_chosen_from_the_menu(page: Page, tuned_digits: list[Build]) -> None:
    page.goto(PATH)
    page.get_by_role("link", name="x86-64-avx512").first.click()
    expect(page).to_have_url(re.compile("/targets/x86-64-avx512$"))
