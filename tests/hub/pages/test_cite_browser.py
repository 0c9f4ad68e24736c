"""The panel by which a version is cited: with a mouse, by keyboard, on a phone."""

import json

import pytest
from playwright.sync_api import Page

from registry.tables import MLModel, User
from tests.hub.fair.records import make_record
from tests.hub.pages.conftest import needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs_chromium,
]
PAGE = "/lab/galaxy-net"


@pytest.fixture
def record(charlie: User, lab: object) -> MLModel:
    return make_record(charlie)


def test_a_citation_is_chosen_by_keyboard_and_copied(page: Page, record: MLModel) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(PAGE)
    panel = page.get_by_role("region", name="Citation and metadata")
    panel.get_by_role("radio", name="Text").focus()
    page.keyboard.press("ArrowRight")
    assert panel.get_by_text("@misc{").is_visible()
    assert not panel.get_by_text("cff-version").is_visible()
    panel.get_by_role("button", name="Copy").locator("visible=true").click()
    panel.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("@misc{")


def test_the_record_in_the_page_can_be_read_by_programs(page: Page, record: MLModel) -> None:
    page.goto(PAGE)
    text = page.locator('script[type="application/ld+json"]').text_content()
    assert json.loads(text or "")["name"] == "Galaxy CNN: morphology"


def test_the_panel_fits_on_a_phone(page: Page, record: MLModel) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(PAGE)
    page.get_by_text("Metadata in 11 formats").click()
    assert page.get_by_role("link", name="RO-Crate 1.3").is_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
