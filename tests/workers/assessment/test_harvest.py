"""What is found of a record over HTTP is what it serves, and nothing it only says."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from registry.fair import signposting
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.linked import shape
from registry.fair.linked.turtle import turtle
from registry.fair.score.harvest import Harvest, expected
from registry.fair.score.reading import Reading
from registry.fair.score.score import assess
from tests.registry.fair.samples import MOST, WITHDRAWN
from tests.workers.assessment.serving import content, serve_file, serve_record, served
from tests.workers.assessment.site import Reply, Site, visited
from workers.assessment import harvest as module
from workers.assessment.conformance import violations
from workers.assessment.harvest import harvest
from workers.assessment.visitor import Visitor

MIB = 2**20


@pytest.fixture
def site() -> Iterator[Site]:
    with visited() as found:
        yield found


#: A site, the record that it serves, and what that earns.
Whole = tuple[Site, Description, dict[str, float]]


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    with visited() as found:
        made = served(found, MOST)
        yield found, made, points(expected(made))


@pytest.fixture
def mended(whole: Whole) -> Iterator[Whole]:
    """As ``whole``; what a test breaks there is mended after it."""
    answers = whole[0].answers
    kept = dict(answers)
    yield whole
    answers.clear()
    answers.update(kept)


@pytest.fixture(scope="module", autouse=True)
def judged_once() -> Iterator[None]:
    """The same record under the same shape is not judged a second time, which takes longest."""
    known: dict[tuple[str, str, bytes, str], tuple[str, ...]] = {}

    def once(reading: Reading, shape: bytes, url: str) -> tuple[str, ...]:
        key = (json.dumps(reading.document), reading.cite_as, shape, url)
        if key not in known:
            known[key] = violations(reading, shape, url)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "violations", once)
        yield


def look(site: Site, made: Description, most_bytes: int = MIB) -> Harvest:
    with Visitor(site.url) as visitor:
        return harvest(visitor, made.landing, made.kind, most_bytes=most_bytes)


def points(found: Harvest) -> dict[str, float]:
    return {metric.id: outcome.points for metric, outcome in assess(found).results}


def test_what_is_found_is_what_was_expected(site: Site) -> None:
    made = served(site, MOST)
    found, hoped = look(site, made), expected(made)
    assert points(found) == points(hoped)
    assert assess(found).total.percent == 100
    assert {one.url for one in found.metadata} == {one.url for one in hoped.metadata}
    assert found.files == tuple(sorted(hoped.files, key=lambda one: one.answer.url))
    assert set(found.negotiated.items()) == set(hoped.negotiated.items())
    assert (found.policy, found.shape) == (hoped.policy, hoped.shape)
    assert found.violations == ()
    assert found.sources == hoped.sources
    assert len(found.sources) > 1
    assert {headers.get("Authorization") for _, _, headers in site.asked} == {None}
    fetched = [headers for method, path, headers in site.asked if "/resolve/" in path]
    assert all(one.get("Range", "").startswith("bytes=-") for one in fetched[len(made.files) :])


def test_a_tombstone_is_read_to_its_end(site: Site) -> None:
    made = served(site, WITHDRAWN)
    found = look(site, made)
    assert points(found) == points(expected(made))
    assert found.is_tombstone
    assert found.files == (), "its record offers none"


def other_bytes(site: Site, made: Description) -> None:
    file = made.files[-1]
    serve_file(site, made, file, content(file.path).swapcase())


def longer(site: Site, made: Description) -> None:
    file = made.files[-1]
    serve_file(site, made, file, content(file.path) + b"!")


def gone(site: Site, made: Description) -> None:
    for file in made.files:
        site.answers[file.url.removeprefix(site.url)] = Reply(404)


def one_gone(site: Site, made: Description) -> None:
    site.answers[made.files[-1].url.removeprefix(site.url)] = Reply(410)


def gated(site: Site, made: Description) -> None:
    site.answers[made.files[-1].url.removeprefix(site.url)] = Reply(403)


def broken_off(site: Site, made: Description) -> None:
    path = made.files[-1].url.removeprefix(site.url)
    whole = site.answers[path]
    assert isinstance(whole, Reply)
    site.answers[path] = replace(whole, is_cut=True)


def dead_source(site: Site, made: Description) -> None:
    site.answers[expected(made).own_sources[0].removeprefix(site.url)] = Reply(404)


def other_metadata(site: Site, made: Description) -> None:
    url = signposting.metadata_url(made, formats_of("model")[0])
    site.answers[url.removeprefix(site.url)] = Reply(headers={"Content-Type": "text/html"})


def dead_metadata(site: Site, made: Description) -> None:
    url = signposting.metadata_url(made, formats_of("model")[0])
    site.answers[url.removeprefix(site.url)] = Reply(500)


def dead_pid(site: Site, made: Description) -> None:
    site.answers[made.pid.removeprefix(site.url)] = Reply(404)


def no_linkset(site: Site, made: Description) -> None:
    site.answers[made.linkset_url.removeprefix(site.url)] = Reply(404)


def broken_linkset(site: Site, made: Description) -> None:
    site.answers[made.linkset_url.removeprefix(site.url)] = Reply(body=b'{"linkset": 7}')


def no_policy(site: Site, made: Description) -> None:
    site.answers["/policy"] = Reply(404)


def no_shape(site: Site, made: Description) -> None:
    site.answers["/shapes/record"] = Reply(404)


def stricter_shape(site: Site, made: Description) -> None:
    strict = turtle(shape.document(made.hub))
    site.answers["/shapes/record"] = Reply(body=strict.replace(b"Length 50", b"Length 5000"))


def another_shape(site: Site, made: Description) -> None:
    elsewhere = replace(made.hub, shape_url="https://elsewhere.example/shape")
    site.answers["/shapes/record"] = Reply(body=turtle(shape.document(elsewhere)))


@pytest.mark.parametrize(
    ("break_", "lost"),
    [
        (other_bytes, {"HUB-A-03"}),
        (longer, {"HUB-A-03"}),
        (gone, {"HUB-A-03", "FsF-A1-02MD", "FsF-R1.3-02D"}),
        (one_gone, {"HUB-A-03"}),
        (gated, set()),
        (broken_off, {"HUB-A-03"}),
        (dead_source, {"HUB-R-06"}),
        (dead_metadata, {"HUB-A-01"}),
        (other_metadata, {"HUB-A-01"}),
        (dead_pid, {"HUB-A-01", "FsF-F1-02MD"}),
        (no_linkset, {"HUB-F-01"}),
        (broken_linkset, {"HUB-F-01"}),
        (no_policy, {"HUB-A-02"}),
        (no_shape, {"HUB-I-02"}),
        (stricter_shape, {"HUB-I-02"}),
        (another_shape, {"HUB-I-02"}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_not_served_earns_nothing(
    mended: Whole, break_: Callable[[Site, Description], None], lost: set[str]
) -> None:
    site, made, whole = mended
    break_(site, made)
    found = points(look(site, made))
    assert {id_ for id_, earned in found.items() if earned < whole[id_]} == lost


def test_large_files_are_not_fetched(whole: Whole) -> None:
    site, made, _ = whole
    found = look(site, made, most_bytes=200)
    counted = [one for one in found.files if one.received_bytes is not None]
    assert sum(one.received_bytes or 0 for one in counted) <= 200
    assert 0 < len(counted) < len(made.files)
    assert points(found)["HUB-A-03"] == 2
    assert look(site, made, most_bytes=0).files


def test_of_many_files_the_smallest_and_some_by_chance_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 4)
    sizes = {f"https://hub.example.org/{size}": size for size in range(8)}
    chosen = [set(module._sampled(sizes)) for _ in range(100)]
    assert {len(some) for some in chosen} == {4}
    smallest = set(list(sizes)[:2])
    assert all(some >= smallest for some in chosen)
    assert set.union(*chosen) == set(sizes)


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"<p>No metadata.</p>"], ids=repr)
def test_a_page_without_metadata_earns_next_to_nothing(site: Site, body: bytes) -> None:
    made = replace(MOST, landing=f"{site.url}/page")
    site.answers["/page"] = Reply(body=body)
    assert assess(look(site, made)).total.percent < 20


def test_a_page_that_is_not_there_is_not_looked_into(site: Site) -> None:
    found = look(site, replace(MOST, landing=f"{site.url}/none"))
    assert (found.landing.status, found.files, found.metadata) == (404, (), ())
    assert len(site.asked) == 1


def test_a_record_leads_assessors_nowhere_else(site: Site) -> None:
    with visited() as other:
        made = served(site, replace(MOST, doi=f"{other.url}/10.5072/x"))
        lead = replace(made, doi=f"{other.url}/10.5072/x", pid=f"{other.url}/ark:/99999/h2x7k4q9m")
        serve_record(site, lead)
        look(site, lead)
        assert other.asked == []


def test_what_a_hub_says_of_others_is_not_taken_for_its_own(mended: Whole) -> None:
    """A link set names files of another page as well; those are not this record's."""
    site, made, _ = mended
    path = made.linkset_url.removeprefix(site.url)
    links: dict[str, Any] = signposting.linkset(made)
    links["linkset"].append(
        {"anchor": f"{site.url}/other", "item": [{"href": f"{site.url}/other/file"}]}
    )
    links["linkset"].append({"anchor": made.landing, "item": [{"href": f"{site.url}/unnamed"}]})
    site.answers[path] = Reply(
        body=signposting.encoded(links), headers={"Content-Type": signposting.LINKSET_TYPE}
    )
    asked = {one.answer.url for one in look(site, made).files}
    assert f"{site.url}/unnamed" in asked
    assert f"{site.url}/other/file" not in asked
