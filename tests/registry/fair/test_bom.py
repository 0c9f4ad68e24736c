"""What CycloneDX and SPDX spell alike."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from registry.fair.bom.common import Value, files_of, license_addresses, media_type, text_of, utc
from registry.fair.parts import License
from tests.registry.fair.samples import LEAST, MOST, file_of


def test_times_are_written_in_utc_with_whole_seconds() -> None:
    moment = datetime(2026, 3, 1, 13, 0, 5, 999, tzinfo=timezone(timedelta(hours=1)))

    assert utc(moment) == "2026-03-01T12:00:05Z"
    assert utc(datetime(2026, 3, 1, tzinfo=UTC)) == "2026-03-01T00:00:00Z"


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (0.0, "0"), (3, "3"), (0.42, "0.42"), ("a", "a")],
)
def test_a_value_is_written_as_people_write_it(value: Value, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("served", "written"),
    [
        ("text/markdown; charset=utf-8", "text/markdown"),
        ("Image/SVG+xml", "image/svg+xml"),
        ("not a type", None),
    ],
)
def test_a_media_type_loses_its_parameters(served: str, written: str | None) -> None:
    assert media_type(file_of("a", served, "other")) == written


def test_test_tensors_among_the_files_are_listed_once() -> None:
    twice = replace(LEAST, tests=LEAST.files)

    assert files_of(twice) == list(LEAST.files)
    assert len(files_of(MOST)) == len(MOST.files) + len(MOST.tests)


def test_each_license_of_an_expression_keeps_its_address() -> None:
    text = "https://a.example/terms"
    mixed = License(
        expression="MIT AND LicenseRef-own",
        uris=("https://spdx.org/licenses/MIT", text),
    )

    assert license_addresses(LEAST) == {}
    assert license_addresses(replace(LEAST, license=mixed)) == {
        "MIT": "https://spdx.org/licenses/MIT",
        "LicenseRef-own": text,
    }
