"""Every kind of page against axe-core, and against its content policy in a browser."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.hub.pages.axe import COLOURS, HIDE_ALIKE, faults, problems_of, violations
from tests.hub.pages.conftest import sign_in
from tests.programs import needs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
]


def test_every_page_can_be_used_by_all_in_light_in_dark_and_on_a_phone(
    loose_page: Page, addresses: list[str]
) -> None:
    problems = problems_of(loose_page, ["/login", "/signup", "/docs/errors"])
    sign_in(loose_page, "alice")
    problems += problems_of(loose_page, addresses)
    assert not problems, "\n".join(problems)


def test_the_viewer_of_the_api_runs_under_the_content_policy(loose_page: Page) -> None:
    """Its colours and buttons are those of Swagger UI, which others make."""
    with violations(loose_page) as lines:
        loose_page.goto("/api/docs")
        loose_page.locator(".opblock").first.wait_for()
    assert not lines


def test_axe_would_find_a_fault(loose_page: Page) -> None:
    loose_page.set_content("<html lang=en><title>x</title><main><button></button></main></html>")
    loose_page.evaluate(Axe().axe_script)
    assert "button-name" in faults(loose_page, {})[0]


def test_axe_would_find_a_row_that_is_hard_to_read_among_others(loose_page: Page) -> None:
    rows = "<tr><td>dark</td></tr>" * 6 + '<tr><td class="pale">pale</td></tr>'
    style = "<style>.pale { color: #bbb; background: #fff; }</style>"
    loose_page.set_content(f"<html lang=en><title>x</title>{style}<table>{rows}</table></html>")
    loose_page.evaluate(Axe().axe_script)
    loose_page.evaluate(HIDE_ALIKE)
    (problem,) = faults(loose_page, COLOURS)
    assert "color-contrast" in problem
    expect(loose_page.locator("td:visible")).to_have_count(3)


def test_a_browser_would_report_a_violation(loose_page: Page) -> None:
    loose_page.add_init_script(
        "addEventListener('load', () => document.body.setAttribute('style', 'color: red'))"
    )
    (problem,) = problems_of(loose_page, ["/login"])
    assert "style" in problem
    assert "Content Security Policy" in problem
