"""The pages of analyses with planted data against axe-core."""

import pytest
from playwright.sync_api import Page

from tests.hub.analysis.scene import AnalysisScene
from tests.hub.pages.axe import problems_of
from tests.programs import needs

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, needs("chromium")]


def test_no_page_has_serious_faults(opened_page: Page, scene: AnalysisScene) -> None:
    problems = problems_of(opened_page, scene.addresses)
    assert not problems, "\n".join(problems)
