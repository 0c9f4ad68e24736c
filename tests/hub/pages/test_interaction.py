"""What people do on the pages with a real browser: by keyboard, without JavaScript, quickly."""

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from registry.tables import AccessRequest, Discussion, MLModel, User
from tests.hub.pages.conftest import needs_chromium, sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs_chromium,
]

ROOT = "/lab/galaxy-cnn"


def test_ways_to_use_a_model_are_chosen_by_keyboard(page: Page, galaxy: MLModel) -> None:
    page.goto(ROOT)
    assert page.get_by_text("hpcfair.load(").is_visible()
    page.get_by_role("radio", name="hpcfair").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_text("snapshot_download(").is_visible()
    assert not page.get_by_text("hpcfair.load(").is_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.get_by_text("git clone").is_visible()


def test_code_is_copied_by_a_button(page: Page, galaxy: MLModel) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(ROOT)
    page.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert 'hpcfair.load("lab/galaxy-cnn")' in page.evaluate("navigator.clipboard.readText()")


def test_a_menu_opens_and_closes_by_keyboard(page: Page, galaxy: MLModel) -> None:
    page.goto(f"{ROOT}/tree/main")
    menu = page.locator(".menu > summary")
    menu.focus()
    page.keyboard.press("Enter")
    link = page.locator(".menu").get_by_role("link", name="main")
    assert link.is_visible()
    page.keyboard.press("Escape")
    assert not link.is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_like_counts_without_a_reload(page: Page, galaxy: MLModel, alice: User) -> None:
    sign_in(page, "alice")
    page.goto(ROOT)
    page.evaluate("window.before = true")
    page.get_by_role("button", name="Like (0)").click()
    page.get_by_role("button", name="Like (1)").wait_for()
    assert page.evaluate("window.before")
    page.get_by_role("button", name="Like (1)").click()
    page.get_by_role("button", name="Like (0)").wait_for()


def test_talk_likes_and_the_gate_work_without_javascript(
    browser: Browser, live_server: LiveServer, galaxy: MLModel, alice: User
) -> None:
    MLModel.objects.update(gate="manual")
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, "alice")
    page.goto(ROOT)
    page.get_by_role("button", name="Like (0)").click()
    page.get_by_role("button", name="Like (1)").wait_for()
    page.get_by_label("What you want them for").fill("For my thesis.")
    page.get_by_role("button", name="Ask for access").click()
    page.get_by_text("have not answered yet").wait_for()
    page.get_by_role("link", name="Discussions").click()
    page.get_by_role("link", name="New discussion").click()
    page.get_by_label("Title").fill("Which survey?")
    page.get_by_role("button", name="Open it").click()
    page.get_by_label("Comment").fill("**SDSS**, I think.")
    page.get_by_role("button", name="Comment").click()
    page.locator("strong", has_text="SDSS").wait_for()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Reopen").wait_for()
    context.close()
    assert Discussion.objects.get().state == "closed"
    assert AccessRequest.objects.get().message == "For my thesis."
