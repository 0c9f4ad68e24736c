"""An assessor asks only where it may, reads only so much, and is led round by nobody."""

import hashlib
from collections.abc import Iterator

import pytest

from tests.workers.assessment.site import Reply, Site, visited
from workers.assessment import visitor as module
from workers.assessment.visitor import Visitor, origin_of


@pytest.fixture
def site() -> Iterator[Site]:
    with visited() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Site]:
    with visited() as found:
        yield found


@pytest.fixture
def visitor(site: Site) -> Iterator[Visitor]:
    with Visitor(site.url) as found:
        yield found


def leading(to: str, status: int = 302) -> Reply:
    return Reply(status, headers={"Location": to})


def test_a_page_is_read_as_browsers_get_it(site: Site, visitor: Visitor) -> None:
    headers = {"Content-Type": "text/HTML; charset=utf-8", "Link": '<a>; rel="item"'}
    site.answers["/page"] = Reply(body=b"hello", headers=headers)
    visit = visitor.read(f"{site.url}/page", "text/html")
    assert (visit.answer.statuses, visit.answer.media_type) == ((200,), "text/html")
    assert (visit.body, visit.link) == (b"hello", '<a>; rel="item"')
    ((method, path, asked),) = site.asked
    assert (method, path, asked["Accept"]) == ("GET", "/page", "text/html")
    assert asked["Accept-Encoding"] == "identity"
    assert asked["User-Agent"].startswith("HPCFair-Assessor/")
    assert "Authorization" not in asked


def test_redirects_are_followed_and_told(site: Site, visitor: Visitor) -> None:
    site.answers |= {"/a": leading("/b"), "/b": leading(f"{site.url}/c", 307), "/c": Reply()}
    answer = visitor.read(f"{site.url}/a").answer
    assert (answer.statuses, answer.final) == ((302, 307, 200), f"{site.url}/c")


def test_a_circle_of_redirects_has_an_end(site: Site, visitor: Visitor) -> None:
    site.answers["/a"] = leading("/a")
    answer = visitor.read(f"{site.url}/a").answer
    assert not answer.is_ok
    assert len(site.asked) == 6


def test_no_other_host_is_asked(site: Site, other: Site, visitor: Visitor) -> None:
    site.answers["/a"] = leading(f"{other.url}/b")
    answer = visitor.read(f"{site.url}/a").answer
    assert (answer.statuses, answer.final) == ((302,), f"{other.url}/b")
    assert visitor.read(f"{other.url}/b").answer.statuses == ()
    assert visitor.count(f"{other.url}/b", 5) is None
    assert other.asked == []


def test_hosts_that_were_named_are_asked(site: Site, other: Site) -> None:
    site.answers["/a"] = leading(f"{other.url}/b")
    other.answers["/b"] = Reply(body=b"there")
    with Visitor(site.url, elsewhere=[f"{other.url}/any"]) as visitor:
        assert visitor.read(f"{site.url}/a").body == b"there"


@pytest.mark.parametrize(
    "target",
    ["http://[", "javascript:alert(1)", "//evil.invalid/", "ftp://127.0.0.1/", "file:///etc/passwd",
     "http://127.0.0.1:99999/", "\N{SNOWMAN}", ""],
)  # fmt: skip
def test_odd_addresses_are_no_way_out(site: Site, visitor: Visitor, target: str) -> None:
    assert visitor.read(target).answer.statuses == ()
    location = target.encode().decode("latin-1")
    site.answers["/a"] = leading(location)
    assert not visitor.read(f"{site.url}/a").answer.is_ok


def test_an_address_with_a_password_is_not_asked(site: Site, visitor: Visitor) -> None:
    assert not visitor.may_visit(f"http://me:secret@127.0.0.1:{site.port}/")
    assert visitor.may_visit(f"{site.url}/any?thing=1")


def test_nobody_there_is_no_answer(site: Site) -> None:
    with Visitor("http://127.0.0.1:1") as visitor:
        visit = visitor.read("http://127.0.0.1:1/")
    assert (visit.answer.status, visit.answer.is_ok, visit.body) == (0, False, b"")


def test_no_more_is_read_than_a_page_has(
    site: Site, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    site.answers["/long"] = Reply(body=b"x" * 2**20)
    assert visitor.read(f"{site.url}/long").body == b"x" * 1000


def test_the_hub_is_reached_inside_by_its_outside_name(site: Site) -> None:
    hub = "http://hub.example.org"
    site.answers |= {"/a": leading(f"{hub}/b?x=1"), "/b?x=1": Reply(body=b"inside")}
    with Visitor(hub, inside=site.url) as visitor:
        visit = visitor.read(f"{hub}/a")
    assert visit.body == b"inside"
    assert visit.answer.final == f"{hub}/b?x=1"
    assert {headers["Host"] for _, _, headers in site.asked} == {"hub.example.org"}


def test_a_head_is_asked_for_without_its_body(site: Site, visitor: Visitor) -> None:
    site.answers["/file"] = Reply(body=b"12345", headers={"Repr-Digest": "sha-256=:x:"})
    visit = visitor.head(f"{site.url}/file")
    assert visit.headers["Content-Length"] == "5"
    assert visit.headers["Repr-Digest"] == "sha-256=:x:"
    assert (visit.body, site.asked[0][0]) == (b"", "HEAD")


def test_bytes_are_counted_without_counting_as_a_download(site: Site, visitor: Visitor) -> None:
    site.answers["/file"] = Reply(body=b"12345")
    digest = hashlib.sha256(b"12345").hexdigest()
    assert visitor.count(f"{site.url}/file", 5) == (5, digest)
    assert site.asked[0][2]["Range"] == "bytes=-5"
    site.answers["/empty"] = Reply()
    assert visitor.count(f"{site.url}/empty", 0) == (0, hashlib.sha256(b"").hexdigest())
    assert visitor.count(f"{site.url}/none", 5) is None


def test_a_file_longer_than_claimed_is_told_and_not_read(site: Site, visitor: Visitor) -> None:
    site.answers["/file"] = Reply(body=b"x" * 10, whole=2**50)
    counted = visitor.count(f"{site.url}/file", 10)
    assert counted is not None
    assert counted[0] == 2**50
    site.answers["/whole"] = Reply(201, body=b"x" * 2**22)
    counted = visitor.count(f"{site.url}/whole", 10)
    assert counted is not None
    assert 10 < counted[0] < 2**22


def test_a_visit_ends_when_it_is_called_off(site: Site) -> None:
    def enough() -> None:
        raise ZeroDivisionError

    with Visitor(site.url, check=enough) as visitor, pytest.raises(ZeroDivisionError):
        visitor.read(f"{site.url}/a")
    assert site.asked == []


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Hub.example.org/a", "https://hub.example.org:443"),
        ("http://hub.example.org:8000", "http://hub.example.org:8000"),
        ("http://hub.example.org:x/", ""),
        ("hub.example.org", ""),
        ("mailto:a@b", ""),
        ("", ""),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin
