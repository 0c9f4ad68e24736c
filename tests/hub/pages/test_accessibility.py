"""Every kind of page against axe-core, in light and in dark, and on a phone."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.hub.pages.conftest import sign_in
from tests.programs import needs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
]

#: What a person who cannot see or point meets: WCAG 2.2 A and AA.
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def faults(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe-core calls serious or critical on the page as it is, one line each."""
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{page.url}: {fault['id']}: {node['html'][:150]} {node['failureSummary'][:300]}"
        for fault in found["violations"]
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"]
    ]


def test_every_page_can_be_used_by_all_in_light_in_dark_and_on_a_phone(
    loose_page: Page, addresses: list[str]
) -> None:
    rules = {"runOnly": {"type": "tag", "values": _RULES}, "resultTypes": ["violations"]}
    # What else there is to find does not depend on the theme.
    names = ["color-contrast", "link-in-text-block"]
    colours = {"runOnly": {"type": "rule", "values": names}, "resultTypes": ["violations"]}
    found, wide = [], []
    for address in ["/login", *addresses]:
        if address == addresses[0]:
            sign_in(loose_page, "alice")
        loose_page.emulate_media(color_scheme="light")
        loose_page.set_viewport_size({"width": 360, "height": 740})
        loose_page.goto(address)
        if loose_page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(address)
        loose_page.set_viewport_size({"width": 1280, "height": 720})
        loose_page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        loose_page.evaluate(Axe().axe_script)
        found += faults(loose_page, rules)
        loose_page.emulate_media(color_scheme="dark")
        found += faults(loose_page, colours)
    assert not found, "\n".join(found)
    assert not wide


def test_axe_would_find_a_fault(loose_page: Page) -> None:
    loose_page.set_content("<html lang=en><title>x</title><main><button></button></main></html>")
    loose_page.evaluate(Axe().axe_script)
    assert "button-name" in faults(loose_page, {})[0]
