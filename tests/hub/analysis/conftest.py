"""One hub with planted answers, one browser and one page for all questions: made once for a
file."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from tests.hub.analysis.clicks import Visitor
from tests.hub.analysis.scene import AnalysisScene, make_scene
from tests.hub.pages.conftest import PATIENCE_MS, browser, kept, no_errors

__all__ = ["browser", "kept"]


@pytest.fixture(scope="module")
def scene(kept: None) -> AnalysisScene:
    """Models, builds, profiles and searches."""
    return make_scene()


@pytest.fixture(scope="module")
def server(scene: AnalysisScene) -> Iterator[LiveServer]:
    """A hub at an address of its own, which outlives the tests of a file."""
    running = LiveServer("localhost")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def opened_page(browser: Browser, server: LiveServer) -> Iterator[Page]:
    """A page, and an error of the script of any page in it is a failure."""
    page = browser.new_page(
        base_url=server.url, viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
    )
    page.set_default_timeout(PATIENCE_MS)
    yield page
    page.close()


@pytest.fixture
def visitor(opened_page: Page) -> Iterator[Visitor]:
    """Somebody who asks a question, and whose clicks are counted."""
    with no_errors(opened_page):
        yield Visitor(opened_page)


@pytest.fixture
def plain_page(browser: Browser, server: LiveServer) -> Iterator[Page]:
    """A page without JavaScript."""
    page = browser.new_page(base_url=server.url, java_script_enabled=False)
    page.set_default_timeout(PATIENCE_MS)
    yield page
    page.close()
