from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.description import Description
from registry.fair.description import missing_fields as required
from registry.fair.parts import License, Reference
from registry.fair.score.claims import content_mismatches, header_mismatches
from registry.fair.score.harvest import Answer, FileAnswer, Harvest, expected
from registry.fair.score.metric import Missing, Outcome, all_of, any_of, criterion, listed
from registry.fair.score.score import METRICS, metrics_of
from registry.fair.signposting import Link
from tests.registry.fair.samples import DATASET, EVERY, LEAST, MOST, WITHDRAWN

every = pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
# What no card can mend: the hub or the files are to be.
BEYOND_THE_CARD = {"FsF-I2-01M", "HUB-R-02", "HUB-R-03", "HUB-R-04"}
BY_ID = {metric.id: metric for metric in METRICS}
SEEN = expected(MOST)


def outcome(id_: str, harvest: Harvest) -> Outcome:
    return BY_ID[id_].check(harvest)


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in SEEN.embedded.items() if key not in keys}


def without_links(rel: str) -> tuple[Link, ...]:
    return tuple(link for link in SEEN.linkset if link.rel != rel)


def refiled(change: Callable[[FileAnswer], FileAnswer]) -> Harvest:
    first, *rest = SEEN.files
    return replace(SEEN, files=(change(first), *rest))


def test_fairsfair_has_17_metrics_and_26_points() -> None:
    theirs = [metric for metric in METRICS if metric.source == "fairsfair"]
    assert len(theirs) == 17
    assert sum(metric.points for metric in theirs) == 26
    assert len(BY_ID) == len(METRICS)
    assert [metric.principle for metric in METRICS] == sorted(
        (metric.principle for metric in METRICS), key="FAIR".index
    )


@pytest.mark.parametrize("metric", METRICS, ids=BY_ID)
def test_a_record_that_says_all_earns_every_point(metric: Any) -> None:
    earned = metric.check(SEEN)
    assert earned.missing == ()
    assert earned.points == metric.points
    assert earned.evidence


def test_a_record_that_says_least_is_told_which_field_to_fill() -> None:
    seen = expected(LEAST)
    lacking = {metric.id: metric.check(seen).missing for metric in METRICS}
    fields = {id_: {one.field for one in found} for id_, found in lacking.items() if found}
    assert {id_ for id_, found in fields.items() if None in found} == BEYOND_THE_CARD
    assert {field for found in fields.values() for field in found if field} == {
        "authors", "license", "tags", "README.md", "pipeline_tag", "intended_use",
        "limitations", "datasets", "model-index",
    }  # fmt: skip
    assert all(one.what and one.how for found in lacking.values() for one in found)


def test_points_are_lost_for_what_is_missing_and_for_nothing_else() -> None:
    seen = expected(LEAST)
    for metric in METRICS:
        found = metric.check(seen)
        assert 0 <= found.points <= metric.points
        assert (found.points < metric.points) == bool(found.missing)


def test_what_was_withdrawn_loses_its_files_only() -> None:
    seen = expected(WITHDRAWN)
    assert seen.landing.status == 410
    lost = {metric.id for metric in METRICS if metric.check(seen).points < metric.points}
    files = {"FsF-F3-01M", "FsF-A1-02MD", "FsF-A1.1-01MD", "FsF-A1.2-01MD", "FsF-R1-01M"}
    assert lost == {*files, "FsF-R1.3-02D", "HUB-A-03"}


def test_data_sets_are_not_asked_for_what_only_networks_have() -> None:
    asked = {metric.id for metric in metrics_of("dataset")}
    assert {id_ for id_ in BY_ID if id_ not in asked} == {f"HUB-R-0{n}" for n in range(2, 8)}
    seen = expected(DATASET)
    found = [one for metric in metrics_of("dataset") for one in metric.check(seen).missing]
    assert {one.field for one in found} == {"tags"}


@every
def test_the_shape_is_asked_as_the_hub_itself_asks(description: Description) -> None:
    found = {one.field for one in outcome("HUB-I-02", expected(description)).missing}
    names = {
        "description": "README.md", "creators": "authors", "license": "license",
        "task": "pipeline_tag",
    }  # fmt: skip
    assert found == {names[one] for one in required(description)}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: replace(f, size_bytes=1), "size"),
        (lambda f: replace(f, sha256="0" * 64), "SHA-256"),
        (lambda f: replace(f, sha256=""), "SHA-256"),
        (lambda f: replace(f, answer=replace(f.answer, media_type="text/html")), "type"),
        (lambda f: replace(f, answer=replace(f.answer, url="https://x.example")), "not in the"),
    ],
)
def test_a_file_that_answers_otherwise_than_stated_is_found(
    change: Callable[[FileAnswer], FileAnswer], says: str
) -> None:
    seen = refiled(change)
    assert any(says in fault for fault in header_mismatches(seen))
    assert outcome("HUB-A-03", seen).points < 2


@pytest.mark.parametrize(
    "change",
    [
        lambda f: replace(f, received_bytes=f.size_bytes + 1),
        lambda f: replace(f, received_sha256="f" * 64),
    ],
)
def test_bytes_are_counted_whatever_the_headers_say(change: Callable[..., FileAnswer]) -> None:
    seen = refiled(change)
    assert header_mismatches(seen) == []
    assert len(content_mismatches(seen)) == 1
    assert outcome("HUB-A-03", seen).points == 1


@pytest.mark.parametrize(("status", "said"), [(404, "status 404"), (410, "status 410"),
    (500, "status 500"), (302, "status 302"), (0, "no answer")])  # fmt: skip
def test_one_lost_file_of_several_is_a_fault_and_named(status: int, said: str) -> None:
    statuses = (status,) if status else ()
    seen = refiled(lambda f: FileAnswer(answer=replace(f.answer, statuses=statuses)))
    assert header_mismatches(seen) == [f"{seen.files[0].answer.url} ({said})"]
    assert outcome("HUB-A-03", seen).points == 1


def test_a_file_of_which_the_bytes_break_off_is_a_fault_and_named() -> None:
    seen = refiled(lambda f: replace(f, received_bytes=None, received_sha256="", is_broken=True))
    assert header_mismatches(seen) == []
    assert content_mismatches(seen) == [f"{seen.files[0].answer.url} (incomplete)"]
    assert outcome("HUB-A-03", seen).points == 1


def test_training_data_elsewhere_is_named_and_a_dead_source_on_the_hub_is_told() -> None:
    first, *rest = SEEN.sources
    for status, points in ((404, 0), (410, 1)):
        seen = replace(SEEN, sources=(replace(first, statuses=(status,)), *rest))
        assert outcome("HUB-R-06", seen).points == points
    use = replace(MOST.datasets[0], url="https://doi.org/10.5072/sky", pid=None)
    (told,) = outcome("HUB-R-06", expected(replace(MOST, datasets=(use,)))).evidence
    assert "https://doi.org/10.5072/sky (not followed)" in told


def test_a_size_without_a_unit_or_with_one_is_the_same() -> None:
    first, *rest = SEEN.embedded["distribution"]
    spelled = {**first, "contentSize": f"{first['contentSize']} B"}
    seen = replace(SEEN, embedded={**SEEN.embedded, "distribution": [spelled, *rest]})
    assert header_mismatches(seen) == []


@pytest.mark.parametrize(
    ("id_", "seen"),
    [
        ("FsF-F1-02MD", replace(SEEN, pids=())),
        ("FsF-F1-02MD", replace(SEEN, pids=(Answer(url=MOST.pid),))),
        ("FsF-F1-02MD", replace(SEEN, pids=(Answer(url=MOST.pid, statuses=(200,)),))),
        ("FsF-F2-01M", replace(SEEN, embedded=without("creator"))),
        ("FsF-F2-01M", replace(SEEN, embedded=without("keywords"))),
        ("FsF-F3-01M", replace(SEEN, embedded=without("distribution"))),
        ("FsF-F4-01M", replace(SEEN, embedded=None)),
        ("FsF-A1-02MD", replace(SEEN, files=())),
        ("FsF-A1-02MD", replace(SEEN, landing=Answer(url=MOST.landing, statuses=(500,)))),
        ("FsF-I1-01M", replace(SEEN, embedded=None, negotiated={})),
        ("FsF-R1.1-01M", replace(SEEN, embedded=without("license"))),
        ("FsF-R1.3-02D", replace(SEEN, files=SEEN.files[:1])),
        ("HUB-F-01", replace(SEEN, links=())),
        ("HUB-F-01", replace(SEEN, linkset=without_links("cite-as"))),
        ("HUB-F-01", replace(SEEN, linkset=without_links("collection"))),
        ("HUB-F-01", replace(SEEN, linkset=without_links("describes"))),
        ("HUB-F-01", replace(SEEN, header_bytes=4096)),
        ("HUB-F-02", replace(SEEN, text_characters=150)),
        ("HUB-A-01", replace(SEEN, metadata=(Answer(url="https://x.example", statuses=(404,)),))),
        ("HUB-A-01", replace(SEEN, negotiated={"text/turtle": "text/html"})),
        ("HUB-A-02", replace(SEEN, policy=None)),
        ("HUB-A-02", replace(SEEN, policy=Answer(url="https://x.example", statuses=(200,)))),
        ("HUB-I-01", replace(SEEN, embedded={**SEEN.embedded, "@context": "https://schema.org"})),
        ("HUB-I-02", replace(SEEN, shape=None)),
        ("HUB-I-02", replace(SEEN, violations=("a name too many",))),
        ("HUB-R-04", replace(SEEN, embedded=without("hub:testTensors"))),
        ("HUB-R-03", replace(SEEN, embedded=without("hub:hasActivity"))),
    ],
)
def test_what_is_not_served_earns_nothing(id_: str, seen: Harvest) -> None:
    found = outcome(id_, seen)
    assert found.points < BY_ID[id_].points
    assert all(one.what for one in found.missing)
    assert found.missing


@pytest.mark.parametrize(
    ("uri", "is_listed"),
    [
        ("https://spdx.org/licenses/MIT", True),
        ("https://spdx.org/licenses/mit", False),
        ("https://spdx.org/licenses/MIT.html", False),
        ("https://spdx.org/licenses/Do-What-I-Say-1.0", False),
        ("https://spdx.org/licenses/gemma", False),
        ("https://example.org/LICENSE", False),
    ],
)
def test_only_licences_that_spdx_lists_count(uri: str, is_listed: bool) -> None:  # noqa: FBT001
    made = replace(MOST, license=License(expression="LicenseRef-x", uris=(uri,)))
    assert bool(outcome("HUB-R-01", expected(made)).points) == is_listed


def test_tools_without_versions_and_builds_that_differ_earn_nothing() -> None:
    tune = MOST.activities[1]
    bare = replace(tune, tools=(replace(tune.tools[0], version=None),))
    seen = expected(replace(MOST, activities=(MOST.activities[0], bare)))
    assert outcome("HUB-R-03", seen).points == 0
    assert tune.url in outcome("HUB-R-03", seen).missing[0].what
    for reproduced in (False, None):
        builds = (replace(MOST.builds[0], reproduced=reproduced),)
        assert outcome("HUB-R-04", expected(replace(MOST, builds=builds))).points == 0.5


def test_restricted_files_leave_the_open_ones_to_be_had() -> None:
    seen = expected(replace(MOST, access="restricted access"))
    assert {one.answer.status for one in seen.files} == {200, 401}
    assert outcome("FsF-A1-02MD", seen).points == 2
    assert outcome("HUB-A-03", seen).points == 2


@settings(deadline=None, max_examples=10)
@given(st.text(min_size=1, max_size=60), st.text(max_size=60))
def test_every_metric_answers_whatever_strangers_write(title: str, text: str) -> None:
    odd = replace(
        MOST,
        title=title,
        description=text,
        keywords=(text,),
        task=text,
        code=Reference(url=text),
        license=License(expression=text, uris=(text,), name=text),
    )
    seen = expected(odd)
    for metric in METRICS:
        assert 0 <= metric.check(seen).points <= metric.points


def test_questions_add_up_or_the_best_one_counts() -> None:
    lost = Missing("nothing is there", "put it there")
    first, second = criterion(1, "there", lost), criterion(2, [], lost)
    assert all_of(first, second) == Outcome(1, ("there",), (lost,))
    assert any_of(first, second) == Outcome(1, ("there",))
    assert any_of(second, second) == Outcome(0, (), (lost,))
    assert listed("abcdefg") == "a, b, c, d, e and 2 more"
