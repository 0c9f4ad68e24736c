"""The pages of analyses with planted data against axe-core: light, dark, and on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.hub.analysis.scene import AnalysisScene
from tests.hub.pages.test_accessibility import faults
from tests.programs import needs

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, needs("chromium")]
_RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
}
_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def test_no_page_has_serious_faults(opened_page: Page, scene: AnalysisScene) -> None:
    problems, wide = [], []
    for address in scene.addresses:
        opened_page.emulate_media(color_scheme="light")
        opened_page.set_viewport_size({"width": 390, "height": 844})
        opened_page.goto(address)
        if opened_page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(address)
        opened_page.set_viewport_size({"width": 1280, "height": 900})
        opened_page.evaluate(
            "document.querySelectorAll('details').forEach(d => { d.open = true; })"
        )
        opened_page.evaluate(Axe().axe_script)
        problems += faults(opened_page, _RULES)
        opened_page.emulate_media(color_scheme="dark")
        problems += faults(opened_page, _COLOURS)
    assert not problems, "\n".join(problems)
    assert not wide
