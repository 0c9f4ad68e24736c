"""Pages in a browser, against axe-core and their content policy: in light, in dark, on a phone."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page

#: What a person who cannot see or point meets: WCAG 2.2 A and AA.
_RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "resultTypes": ["violations"],
}
#: The rest does not depend on the theme.
_COLOURS = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    "resultTypes": ["violations"],
}


def faults(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe-core calls serious or critical on the page as it is, one line each."""
    result = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{page.url}: {fault['id']}: {node['html'][:150]} {node['failureSummary'][:300]}"
        for fault in result["violations"]
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"]
    ]


@contextmanager
def violations(page: Page) -> Iterator[list[str]]:
    """What the content policies of the pages forbid until the block ends."""
    lines: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            lines.append(f"{page.url}: {message.text}")

    page.on("console", note)
    yield lines
    page.remove_listener("console", note)


def problems_of(page: Page, addresses: Iterable[str]) -> list[str]:
    """Faults of each page with all that it can open, what its content policy forbids, and pages
    that are wider than a phone."""
    with violations(page) as problems:
        for address in addresses:
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": 360, "height": 740})
            page.goto(address)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                problems.append(f"{page.url}: wider than a phone")
            page.set_viewport_size({"width": 1280, "height": 720})
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            page.evaluate(Axe().axe_script)
            problems.extend(faults(page, _RULES))
            page.emulate_media(color_scheme="dark")
            problems.extend(faults(page, _COLOURS))
    return problems
