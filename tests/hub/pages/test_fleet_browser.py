"""The pages of fleet and devices in a browser: live, on a phone, by keyboard, without scripts."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from registry.services.work.attempt import job_progress
from registry.states import DeviceState
from registry.tables import Device
from tests.factories import make_user
from tests.hub.pages.axe import faults
from tests.hub.pages.conftest import sign_in
from tests.programs import needs
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
]


@pytest.fixture
def floor(db: None) -> Floor:
    return shopfloor.floor()


@needs("bundle")
def test_the_fleet_changes_without_reloading(page: Page, floor: Floor) -> None:
    page.goto("/fleet")
    page.locator('[data-chart="utilisation"][data-drawn] [data-plot] svg').wait_for()
    page.evaluate("window.isSamePage = true")
    expect(page.locator("#fleet-state")).to_contain_text("idle")
    link = page.get_by_role("link", name="floor-1").first
    link.focus()
    floor.tune()
    ticket = floor.claim()
    job_progress(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        phase="search",
        done=1,
        total=None,
        message="",
        used_s=5.0,
        budget_s=60.0,
    )
    expect(page.locator("#fleet-state")).to_contain_text("Searching configurations")
    expect(page.locator("#fleet-counts")).to_contain_text("1 of 1 device busy")
    expect(page.locator(".fleet-devices a").first).to_be_focused()
    # Links to jobs and in the summary also keep the focus when their part is replaced.
    for place, state in (("work", "draining"), ("lease", "maintenance"), ("counts", "quarantined")):
        page.locator(f"a[id^={place}-]").first.focus()
        Device.objects.update(state=state)
        expect(page.locator("#fleet-state .fleet-devices")).to_contain_text(state)
        expect(page.locator(f"a[id^={place}-]").first).to_be_focused()
    assert page.evaluate("window.isSamePage")


def test_tables_keep_their_scroll_positions(page: Page, floor: Floor) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/fleet")
    box = page.locator(f"#devices-{shopfloor.SLUG}")
    box.evaluate("box => { box.scrollLeft = 40; box.dataset.old = 'yes'; }")
    Device.objects.update(reason="new disk", state=DeviceState.MAINTENANCE)
    expect(page.locator("#fleet-state")).to_contain_text("new disk")
    expect(page.locator("[data-old]")).to_have_count(0)
    expect(box).to_have_js_property("scrollLeft", 40)


def test_without_scripts_the_page_is_complete(plain_page: Page, floor: Floor) -> None:
    floor.tune()
    floor.claim()
    plain_page.goto("/fleet")
    for words in ("1 of 1 device busy", "floor-1", "ends in"):
        expect(plain_page.get_by_text(words).first).to_be_visible()
    plain_page.get_by_label("State", exact=True).select_option("maintenance")
    plain_page.get_by_role("button", name="Show").click()
    expect(plain_page).to_have_url(re.compile("state=maintenance"))
    expect(plain_page.get_by_text("No device matches.")).to_be_visible()


def test_an_operator_adds_and_drains_a_device_by_keyboard(page: Page, floor: Floor) -> None:
    make_user("olga", is_staff=True)
    sign_in(page, "olga")
    page.goto("/fleet")
    page.locator("summary", has_text="Add a device").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Issue a code").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("hpcfair-agent join .+ --hub http"))).to_be_visible()
    page.goto(f"/devices/{floor.device.uuid}")
    page.get_by_label("Reason, for the log").fill("new disk")
    page.get_by_role("button", name="Drain").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#device-status")).to_contain_text("draining")
    expect(page.locator("#device-status")).to_contain_text("new disk")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    # An action that cannot be undone needs a second step.
    expect(page.get_by_role("button", name="Retire the device")).to_be_hidden()
    page.locator("summary", has_text="Retire…").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Retire the device").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#device-status")).to_contain_text("retired")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_operators_pages_are_accessible_on_a_phone(
    loose_page: Page, floor: Floor, scheme: str
) -> None:
    make_user("olga", is_staff=True)
    sign_in(loose_page, "olga")
    loose_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    loose_page.set_viewport_size({"width": 390, "height": 844})
    floor.tune()
    floor.claim()
    shopfloor.floor("bob/net").tune()
    for address in ("/fleet", f"/devices/{floor.device.uuid}", f"/targets/{shopfloor.SLUG}"):
        loose_page.goto(address)
        assert not loose_page.evaluate("document.documentElement.scrollWidth > innerWidth"), address
        loose_page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        check(loose_page)
    # The page of the code is the answer to a form.
    loose_page.goto("/fleet")
    loose_page.locator("summary", has_text="Add a device").click()
    loose_page.get_by_role("button", name="Issue a code").click()
    loose_page.get_by_text("hpcfair-agent run").wait_for()
    assert not loose_page.evaluate("document.documentElement.scrollWidth > innerWidth")
    check(loose_page)


def check(page: Page) -> None:
    """Check the page in its present state with axe-core."""
    page.evaluate(Axe().axe_script)
    assert not faults(page, {"resultTypes": ["violations"]})
