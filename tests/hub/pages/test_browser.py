"""What people do on the pages with a real browser: by keyboard, on a phone, without JavaScript.

One file, for a browser takes longer to start than most of these tests.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from registry.selectors.repository.revision import revision_get
from registry.services.fair.assessment import assessment_add
from registry.services.work.attempt import job_claim, job_progress, job_succeed
from registry.states import JobKind
from registry.tables import AccessRequest, Discussion, Job, MLModel, User
from tests.factories import commit_files, readme
from tests.hub.fair.records import make_record
from tests.hub.pages.conftest import Tuned, sign_in
from tests.hub.pages.test_lineage import make_family
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.assessed import document
from workers.jobs.run import drain_imports

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
]

ROOT = "/lab/galaxy-cnn"


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
    expect(page.locator("body")).to_have_css("background-color", light)
    page.reload()
    expect(page.locator("body")).to_have_css("background-color", light)


def test_a_search_from_the_masthead_leads_to_a_model(page: Page, tuned: Tuned) -> None:
    page.goto("/")
    page.get_by_placeholder("Search models").fill("stars")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="alice/stars").click()
    page.get_by_role("link", name="Builds", exact=True).click()
    expect(page).to_have_url(re.compile("/builds$"))
    expect(page.get_by_text("1.25 times as fast")).to_be_visible()
    expect(page.locator("svg.plot").first).to_be_attached()


def test_a_facet_narrows_and_is_taken_off_again(page: Page, tuned: Tuned) -> None:
    page.goto("/models")
    page.locator(".facet").get_by_role("link", name="image-classification").click()
    expect(page).to_have_url(re.compile("task=image-classification"))
    page.get_by_role("link", name="Remove filter").click()
    expect(page).not_to_have_url(re.compile("task="))


def test_a_model_is_imported_and_compared_with_its_origin(
    page: Page, galaxy: MLModel, alice: User, settings: Any, live_server: Any
) -> None:
    commit_files(galaxy, {"README.md": readme(), "notes.txt": "one"})
    settings.IMPORT_SERVERS = [live_server.url]
    sign_in(page, "alice")
    page.goto("/new")
    page.get_by_role("link", name="Import from another hub").click()
    page.get_by_label("Model there").fill(f"{live_server.url}/lab/galaxy-cnn/tree/main")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_text("queued").first).to_be_visible()
    drain_imports()
    # Not reloaded: the page asks for the progress.
    page.get_by_role("link", name="Open alice/galaxy-cnn").click()
    expect(page.get_by_role("heading", name="Import", exact=True)).to_be_visible()
    commit_files(galaxy, {"notes.txt": "two"})
    page.get_by_role("button", name="Check for changes").click()
    drain_imports()
    expect(page.get_by_text("1 file changed").first).to_be_visible()
    page.get_by_role("link", name="Update", exact=True).click()
    page.get_by_role("button", name="Update", exact=True).click()
    drain_imports()
    page.get_by_role("link", name="Open alice/galaxy-cnn").click()
    page.get_by_role("link", name="Files", exact=True).click()
    expect(page.get_by_text("notes.txt").first).to_be_visible()


def test_progress_of_a_job_moves_without_a_reload(page: Page, galaxy: MLModel) -> None:
    job = Job.objects.get(kind=JobKind.INSPECT)
    page.goto(f"/jobs/{job.uuid}")
    expect(page.get_by_text("queued")).to_be_visible()
    ticket = job_claim(device_name=None, kinds=[JobKind.INSPECT], target=None)
    assert ticket is not None
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    job_progress(**handle, phase="inspect", done=1, total=4, message="reading the network")
    page.get_by_text("Reading the network: 1 of 4: reading the network").wait_for()
    job_succeed(**handle, result={"summary": "a small network"})
    page.get_by_text("a small network").wait_for()


def test_the_keyboard_reaches_the_content_first(page: Page, db: None) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


def test_everything_works_without_javascript(plain_page: Page, tuned: Tuned, alice: User) -> None:
    page = plain_page
    sign_in(page, "alice")
    page.goto(f"{tuned.path}/builds")
    expect(page.get_by_text("1.25 times as fast")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign in").wait_for()


@pytest.fixture
def inspected(galaxy: MLModel) -> MLModel:
    """``lab/galaxy-cnn`` with a known network, without builds."""
    shopfloor.make_graph(revision_get(galaxy))
    return galaxy


def test_ways_to_use_a_model_are_chosen_by_keyboard(page: Page, inspected: MLModel) -> None:
    page.goto(ROOT)
    expect(page.get_by_text("hpcfair.load(")).to_be_visible()
    page.get_by_role("radio", name="Python").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("hpcfair load")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("snapshot_download(")).to_be_visible()
    expect(page.get_by_text("hpcfair.load(")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("git clone")).to_be_visible()


def test_code_is_copied_by_a_button(page: Page, inspected: MLModel) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(ROOT)
    page.get_by_role("button", name="Copy").nth(1).click()
    page.get_by_role("button", name="Copied").wait_for()
    assert 'hpcfair.load("lab/galaxy-cnn")' in page.evaluate("navigator.clipboard.readText()")


def test_a_menu_opens_and_closes_by_keyboard(page: Page, galaxy: MLModel) -> None:
    page.goto(f"{ROOT}/tree/main")
    menu = page.locator(".menu > summary")
    menu.focus()
    page.keyboard.press("Enter")
    link = page.locator(".menu").get_by_role("link", name="main")
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    expect(menu).to_be_focused()


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
    plain_page: Page, galaxy: MLModel, alice: User
) -> None:
    MLModel.objects.update(gate="manual")
    page = plain_page
    sign_in(page, "alice")
    page.goto(ROOT)
    page.get_by_role("button", name="Like (0)").click()
    page.get_by_role("button", name="Like (1)").wait_for()
    page.get_by_label("Purpose").fill("For my thesis.")
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
    assert Discussion.objects.get().state == "closed"
    assert AccessRequest.objects.get().message == "For my thesis."


@pytest.fixture
def record(charlie: User, lab: object) -> MLModel:
    return make_record(charlie)


def test_a_citation_is_chosen_by_keyboard_and_copied(page: Page, record: MLModel) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/lab/galaxy-net/cite")
    panel = page.get_by_role("region", name="Citation and metadata")
    panel.get_by_role("radio", name="Text").focus()
    page.keyboard.press("ArrowRight")
    expect(panel.get_by_text("@misc{")).to_be_visible()
    expect(panel.get_by_text("cff-version")).to_be_hidden()
    panel.get_by_role("button", name="Copy").locator("visible=true").click()
    panel.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("@misc{")


def test_the_panel_fits_on_a_phone(page: Page, record: MLModel) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/lab/galaxy-net/cite")
    page.get_by_text("Metadata in 16 formats").click()
    expect(page.get_by_role("link", name="RO-Crate 1.3")).to_be_visible()
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_the_graph_is_walked_by_keyboard_and_fits_a_phone(
    page: Page, galaxy: MLModel, alice: User
) -> None:
    make_family(galaxy, alice)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/alice/tuned/lineage")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    here = page.locator(".here rect").bounding_box()
    assert here is not None
    assert here["x"] >= 0
    assert here["x"] + here["width"] <= 360
    page.get_by_role("region", name="Graph of the lineage").focus()
    page.keyboard.press("Tab")
    reached = set()
    for _ in range(3):
        reached.add(page.evaluate("document.activeElement.getAttribute('href')"))
        page.keyboard.press("Tab")
    assert {"/lab/galaxy-cnn/lineage", "/alice/small/lineage"} < reached
    page.get_by_role("link", name="alice/small, model").press("Enter")
    page.wait_for_url("**/alice/small/lineage")
    expect(page.locator(".here text").first).to_have_text("alice/small")


def test_a_long_address_of_what_is_missing_fits_a_phone(page: Page, galaxy: MLModel) -> None:
    report = document()
    report["metrics"][0]["missing"][0]["what"] = f"No tool: https://hub.example.org/{'a' * 90}"
    assessment_add(revision_get(galaxy), report)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{ROOT}/fair")
    expect(page.get_by_text("No tool").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
