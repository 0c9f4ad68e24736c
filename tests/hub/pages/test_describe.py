"""The questions in a real browser: the score follows the typing, and nothing needs JavaScript."""

import re

import pytest
from playwright.sync_api import Page, expect

from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel, User
from tests.factories import make_mlmodel, readme
from tests.hub.pages.conftest import sign_in
from tests.programs import needs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
]

PAGE = "/alice/net/describe"


@pytest.fixture
def net(alice: User) -> MLModel:
    """``alice/net`` with a license and a text."""
    text = "# Galaxies\n\nSorts galaxies by their shapes, for surveys of the whole sky.\n"
    return make_mlmodel("alice/net", actor=alice, files={"README.md": readme(text)})


def points(page: Page) -> float:
    found = re.search(r"FAIR: ([\d.]+) of", page.locator("#total").inner_text())
    assert found
    return float(found[1])


def test_the_score_follows_the_typing_and_the_answers_are_saved(page: Page, net: MLModel) -> None:
    sign_in(page, "alice")
    page.goto(PAGE)
    page.evaluate("window.before = true")
    first = points(page)
    missing = page.get_by_role("region", name="What is missing")
    expect(missing.get_by_text("No creator has an ORCID iD.")).to_be_visible()
    creator = page.get_by_role("group", name="Creator 1")
    expect(creator.get_by_label("Name")).to_have_value("Alice Adams")
    creator.get_by_label("ORCID iD").press_sequentially("0000-0002-1825-0098")
    expect(missing.get_by_text("the iD is 0000-0002-1825-0097")).to_be_visible()
    creator.get_by_label("ORCID iD").fill("0000-0002-1825-0097")
    expect(missing.get_by_text("No creator has an ORCID iD.")).not_to_be_attached()
    second = points(page)
    assert second > first
    missing.get_by_role("link", name="Intended use").click()
    page.get_by_label("Intended use").fill("Surveys of the whole sky.")
    expect(missing.get_by_role("link", name="Intended use")).not_to_be_attached()
    assert points(page) > second
    # What was typed is where it was, for nothing was loaded anew.
    assert page.evaluate("window.before")
    page.get_by_role("button", name="Write to README.md").click()
    page.get_by_text("Your answers were written to README.md.").wait_for()
    card = revision_get(net).card
    assert card["authors"] == [{"name": "Alice Adams", "orcid": "0000-0002-1825-0097"}]
    assert card["intended_use"] == "Surveys of the whole sky."


def test_creators_are_added_and_the_enter_key_saves(loose_page: Page, net: MLModel) -> None:
    # It may log that a look at the score is given up when the form is sent.
    page = loose_page
    sign_in(page, "alice")
    page.goto(PAGE)
    page.evaluate("window.before = true")
    page.get_by_role("group", name="Creator 2").get_by_label("Name").fill("Ada Beispiel")
    page.get_by_role("button", name="Add another").click()
    third = page.get_by_role("group", name="Creator 3").get_by_label("Name")
    expect(third).to_be_focused()
    assert page.evaluate("window.before")
    page.keyboard.type("Example Lab")
    page.keyboard.press("Enter")
    page.get_by_text("Your answers were written to README.md.").wait_for()
    names = [author["name"] for author in revision_get(net).card["authors"]]
    assert names == ["Alice Adams", "Ada Beispiel", "Example Lab"]


def test_all_of_it_works_without_javascript(plain_page: Page, net: MLModel) -> None:
    page = plain_page
    sign_in(page, "alice")
    page.goto("/alice/net")
    page.get_by_role("link", name="Describe", exact=True).click()
    first = points(page)
    before = page.locator("#total").inner_text()
    page.get_by_label("Task").fill("image-classification")
    page.get_by_label("Intended use").fill("Surveys of the whole sky.")
    page.get_by_role("button", name="Show the score").click()
    expect(page.locator("#total")).not_to_have_text(before)
    assert points(page) > first
    page.get_by_role("button", name="Add another").click()
    page.get_by_role("group", name="Creator 3").get_by_label("Name").fill("Ada Beispiel")
    page.get_by_label("License").fill("freeware")
    page.get_by_role("button", name="Write to README.md").click()
    expect(page.get_by_text("'freeware' is not an SPDX id").first).to_be_visible()
    page.get_by_label("License").fill("mit")
    page.get_by_role("button", name="Write to README.md").click()
    page.get_by_text("Your answers were written to README.md.").wait_for()
    card = revision_get(net).card
    assert (card["license"], card["pipeline_tag"]) == ("mit", "image-classification")
    assert [author["name"] for author in card["authors"]] == ["Alice Adams", "Ada Beispiel"]
