"""The manual: built without a warning, complete, and served under the hub's content policy."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from playwright.sync_api import Page, expect

import hpcfair
from hub.settings import env
from registry.errors import CODES
from registry.fair.card.keys import CARD_KEYS
from registry.fair.card.texts import TEXT_KEYS
from registry.schemas import bench_schema
from tests.hub.pages.axe import problems_of
from tests.hub.pages.test_content_policy import inline_parts
from tests.programs import needs

ROOT = Path(__file__).resolve().parents[3]
#: Pages of each kind, for tests in a browser.
_KINDS = (
    *("index", "search", "tutorials/publish", "howto/tolerance", "settings", "states"),
    *("reference/python", "reference/cli", "reference/record", "explanation/measuring"),
)
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual, built as ``make docs`` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-E", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(folder / "doctrees"), "docs", str(folder / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture
def served(site: Path, settings: Any) -> Path:
    """The manual as the hub of this test serves it."""
    settings.MANUAL_DIR = site
    return site


class _Requests(HTMLParser):
    """Collects what a browser fetches by itself to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        fetched = {"script": "src", "img": "src", "iframe": "src", "source": "src"}.get(tag)
        if tag == "link" and given.get("rel") not in {"next", "prev", "search", "index", "author"}:
            fetched = "href"
        if fetched and given.get(fetched):
            self.addresses.append(str(given[fetched]))


def content(answer: Any) -> str:
    """The text of a streamed answer, which is closed."""
    assert answer.status_code == 200
    text = b"".join(answer).decode()
    answer.close()
    return text


def pages(site: Path) -> Iterator[tuple[str, str]]:
    for path in site.rglob("*.html"):
        yield str(path.relative_to(site)), path.read_text()


def test_pages_run_only_files_of_the_hub(site: Path) -> None:
    foreign = []
    for name, html in pages(site):
        assert inline_parts(html) == [], name
        reader = _Requests()
        reader.feed(html)
        foreign += [one for one in reader.addresses if re.match(r"[a-z]+:|//", one)]
    assert not foreign
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.findall(r"url\((?!['\"]?(?:data:|#))[^)]*//[^)]*\)|@import", styles)


def test_the_reference_is_complete(site: Path) -> None:
    def shown(name: str) -> str:
        return (site / "reference" / f"{name}.html").read_text()

    python = shown("python")
    assert not [name for name in hpcfair.__all__ if f'id="hpcfair.{name}"' not in python]
    openapi = yaml.load((ROOT / "hub/api/openapi.yaml").read_text(), Loader=yaml.CSafeLoader)
    rest = shown("rest")
    assert not [address for address in openapi["paths"] if address not in rest]
    objects = shown("rest-objects")
    names = openapi["components"]["schemas"]
    assert not [name for name in names if f'id="rest-{name.lower()}"' not in objects]
    assert not [code for code in CODES if code not in shown("errors")]
    card = shown("card")
    assert not [key for key in CARD_KEYS if f">{key}<" not in card]
    record = shown("record")
    parts = [one for one in bench_schema()["$defs"].values() if "properties" in one]
    fields = {field for one in parts for field in one["properties"]}
    assert not [field for field in fields if f">{field}<" not in record]
    assert "hpcfair bench reproduce" in re.sub(r"<[^>]*>", "", shown("cli"))
    commands = {path.stem for path in (ROOT / "hub/management/commands").glob("[a-z]*.py")}
    operator = shown("operator-commands").replace("-", "_")
    listed = {name for name in commands if f'id="{name}"' in operator}
    assert commands - listed == {"settings_reference"}
    settings_page = (site / "settings.html").read_text()
    assert not [name for name in env.variables if name not in settings_page]


def test_texts_of_cards_are_keys_of_cards() -> None:
    assert set(TEXT_KEYS) <= CARD_KEYS.keys()


def test_the_hub_serves_the_manual(client: Client, served: Path) -> None:
    assert client.get("/docs").headers["Location"] == "/docs/"
    answer = client.get("/docs/")
    assert "HPCFair" in content(answer)
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "public, no-cache"
    style = re.search(r'"(_static/manual[.]css[?]v=\w+)"', content(client.get("/docs/index.html")))
    assert style
    kept = client.get(f"/docs/{style[1]}")
    assert "copy-code" in content(kept)
    assert "immutable" in kept.headers["Cache-Control"]
    assert "hpcfair" in content(client.get("/docs/reference/cli.html"))
    assert client.post("/docs/").status_code == 405


@pytest.mark.parametrize(
    "place", ["nothing.html", "reference/", "../settings/base.py", "%2e%2e/%2e%2e/x", "a" * 300]
)
def test_what_is_not_in_the_manual_is_not_found(client: Client, served: Path, place: str) -> None:
    answer = client.get(f"/docs/{place}", headers={"accept": "text/html"})
    assert answer.status_code == 404


def test_an_installation_without_the_manual_says_how_to_build_it(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.MANUAL_DIR = tmp_path
    answer = client.get("/docs/", headers={"accept": "text/html"})
    assert answer.status_code == 404
    assert "make docs" in answer.content.decode()


def test_pages_of_the_hub_lead_to_the_manual(client: Client) -> None:
    home = client.get("/").content.decode()
    assert home.count('href="/docs/"') == 2
    # Error codes have their own page, whose address problem documents name.
    assert "Error codes" in client.get("/docs/errors").content.decode()


def test_links_of_templates_to_the_manual_lead_to_its_parts(client: Client, served: Path) -> None:
    templates = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    assert not re.findall(r'href="/docs/\w+/', templates)
    links = set(re.findall(r"""\{% url 'manual' %\}([^"]+)""", templates))
    assert len(links) > 8
    for link in links:
        page, _, part = link.partition("#")
        html = content(client.get(f"/docs/{page}"))
        assert not part or f'id="{part}"' in html, link


@pytest.mark.browser
@needs("chromium")
def test_a_person_searches_by_keyboard(page: Page, served: Path) -> None:
    page.goto("/docs/")
    page.keyboard.press("/")
    page.keyboard.type("tolerance")
    page.keyboard.press("Enter")
    found = page.locator("#search-results a", has_text="Accept a tolerance").first
    expect(found).to_be_visible()
    found.click()
    expect(page.locator("h1")).to_contain_text("Accept a tolerance")


@pytest.mark.browser
@needs("chromium")
def test_the_chosen_theme_is_that_of_the_hub(page: Page, served: Path) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/docs/")
    page.locator(".theme-toggle-content .theme-toggle").click()
    expect(page.locator("body")).to_have_attribute("data-theme", "dark")
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.browser
@needs("chromium")
def test_all_can_read_it_in_light_in_dark_on_a_phone_and_on_paper(
    loose_page: Page, served: Path
) -> None:
    addresses = [f"/docs/{name}.html" for name in _KINDS]
    problems = problems_of(loose_page, addresses)
    assert not problems, "\n".join(problems)
    loose_page.emulate_media(color_scheme="light", media="print")
    for address in addresses:
        loose_page.goto(address)
        expect(loose_page.locator(".sidebar-drawer")).to_be_hidden()
