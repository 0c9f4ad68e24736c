"""Pages in a browser, against axe-core and their content policy: in light, in dark, on a phone."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page

#: Rules of colours, which depend on the theme; on large pages they take most of the time.
_OF_COLOURS = ["color-contrast", "link-in-text-block"]
#: What a person who cannot see or point meets, without colours: WCAG 2.2 A and AA.
_RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "rules": {rule: {"enabled": False} for rule in _OF_COLOURS},
    "resultTypes": ["violations"],
}
COLOURS = {
    "runOnly": {"type": "rule", "values": _OF_COLOURS},
    "resultTypes": ["violations"],
}
#: Hides rows, items and tokens of code with the elements, classes and states of an earlier one,
#: which have its colours: axe-core looks at each of thousands. Rows may be striped.
HIDE_ALIKE = """() => {
    const seen = new Set();
    const kind = element => [
        element.tagName, ...Array.from(element.attributes)
            .filter(one => /^(class|style|hidden|disabled|data-|aria-)/.test(one.name))
            .filter(one => !/^aria-(label|describedby|controls)/.test(one.name))
            .map(one => `${one.name}=${one.value}`),
    ].join();
    const isRepeated = element => {
        const stripe = Array.prototype.indexOf.call(element.parentElement.children, element) % 2;
        const inside = Array.from(element.querySelectorAll('*'), kind);
        const key = [kind(element.parentElement), stripe, kind(element), ...inside].join('|');
        return seen.has(key) || !seen.add(key);
    };
    Array.from(document.querySelectorAll('tr, li, pre span')).filter(isRepeated)
        .forEach(element => element.style.setProperty('display', 'none', 'important'));
}"""


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
            page.evaluate(HIDE_ALIKE)
            problems.extend(faults(page, COLOURS))
            page.emulate_media(color_scheme="dark")
            problems.extend(faults(page, COLOURS))
    return problems
