"""The pages in a real browser: themes, live progress, keyboard, no JavaScript."""

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from registry.services.job import job_claim, job_progress, job_succeed
from registry.states import JobKind
from registry.tables import Job, MLModel, User
from tests.factories import PASSWORD
from tests.hub.pages.conftest import Tuned, needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs_chromium,
]


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_light_and_dark_follow_the_system_and_a_choice_is_kept(page: Page, db: None) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/")
    light = background(page)
    page.emulate_media(color_scheme="dark")
    dark = background(page)
    assert light != dark
    page.get_by_role("button", name="Switch between light and dark").click()
    assert background(page) == light
    page.reload()
    assert background(page) == light


def test_a_search_from_the_masthead_leads_to_a_model(page: Page, tuned: Tuned) -> None:
    page.goto("/")
    page.get_by_placeholder("Search models").fill("stars")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="alice/stars").click()
    page.get_by_role("link", name="Builds and speed").click()
    assert page.get_by_text("1.25× faster").is_visible()
    assert page.locator("svg.plot").count() >= 1


def test_a_facet_narrows_and_is_taken_off_again(page: Page, tuned: Tuned) -> None:
    page.goto("/models")
    page.locator(".facet").get_by_role("link", name="image-classification").click()
    assert "task=image-classification" in page.url
    page.get_by_role("link", name="Remove filter").click()
    assert "task=" not in page.url


def test_progress_of_a_job_moves_without_a_reload(page: Page, galaxy: MLModel) -> None:
    job = Job.objects.get(kind=JobKind.INSPECT)
    page.goto(f"/jobs/{job.uuid}")
    assert page.get_by_text("queued").is_visible()
    ticket = job_claim(device_name=None, kinds=[JobKind.INSPECT], target=None)
    assert ticket is not None
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    job_progress(**handle, phase="inspect", done=1, total=4, message="reading the network")
    page.get_by_text("reading the network").wait_for()
    job_succeed(**handle, result={"summary": "a small network"})
    page.get_by_text("a small network").wait_for()


def test_the_keyboard_reaches_the_content_first(page: Page, db: None) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_no_page_is_wider_than_a_phone(page: Page, tuned: Tuned) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    wide = []
    for path in ("/", "/models", tuned.path, f"{tuned.path}/builds", f"/jobs/{tuned.job.uuid}",
                 f"/records/{tuned.record.pk}", "/targets", "/jobs", "/login"):  # fmt: skip
        page.goto(path)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path)
    assert not wide


def test_everything_works_without_javascript(
    browser: Browser, live_server: LiveServer, tuned: Tuned, alice: User
) -> None:
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{tuned.path}/builds")
    assert page.get_by_text("1.25× faster").is_visible()
    page.get_by_role("button", name="Sign out").click()
    assert page.get_by_role("link", name="Sign in").is_visible()
    context.close()
