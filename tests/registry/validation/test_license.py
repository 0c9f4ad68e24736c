from typing import Any

import pytest
from license_expression import get_spdx_licensing

from registry.errors import Invalid
from registry.validation.license import license_missing, license_of


@pytest.mark.parametrize(
    ("given", "expression"),
    [
        ("apache-2.0", "Apache-2.0"),
        ("MIT", "MIT"),
        ("mit", "MIT"),
        ("cc-by-4.0", "CC-BY-4.0"),
        ("cc-by-nc-sa-4.0", "CC-BY-NC-SA-4.0"),
        ("gpl-3.0", "GPL-3.0-only"),
        ("bsd-3-clause", "BSD-3-Clause"),
        ("cc0-1.0", "CC0-1.0"),
        ("odbl", "ODbL-1.0"),
        ("mit or apache-2.0", "MIT OR Apache-2.0"),
        ("GPL-2.0-only WITH Classpath-exception-2.0", "GPL-2.0-only WITH Classpath-exception-2.0"),
        (["mit", "apache-2.0"], "MIT AND Apache-2.0"),
        (["mit or isc", "apache-2.0"], "(MIT OR ISC) AND Apache-2.0"),
        (["mit"], "MIT"),
        ("LicenseRef-our-own", "LicenseRef-our-own"),
        ("llama3", "LicenseRef-llama3"),
        ("Llama3.1", "LicenseRef-llama3.1"),
        ("openrail", "LicenseRef-openrail"),
        ("openrail++", "LicenseRef-openrail-plus-plus"),
        ("unknown", ""),
        (None, ""),
        ("", ""),
        ([], ""),
    ],
)
def test_a_license_becomes_an_spdx_expression(given: Any, expression: str) -> None:
    assert license_of({"license": given}) == expression


def test_other_needs_a_name() -> None:
    assert license_of({"license": "other"}) == ""
    missing = license_missing({"license": "Other"})
    assert missing.code == "license_missing"
    assert "license_name" in missing.fields
    named = {"license": "other", "license_name": "Our Own (v2)"}
    assert license_of(named) == "LicenseRef-Our-Own-v2"


@pytest.mark.parametrize(
    "given",
    [
        "apach-2.0",
        "mit or",
        "((mit",
        "mit with apache-2.0",
        "Classpath-exception-2.0",
        "free",
        42,
        "x" * 300,
        "LicenseRef-" + "a" * 300,
    ],
)
def test_a_license_nobody_knows_is_refused(given: Any) -> None:
    with pytest.raises(Invalid) as caught:
        license_of({"license": given})
    assert caught.value.code == "license_unknown"
    assert "license" in caught.value.fields


def test_a_slip_of_the_pen_is_corrected() -> None:
    with pytest.raises(Invalid) as caught:
        license_of({"license": "apach-2.0"})
    assert "Did you mean 'Apache-2.0'?" in caught.value.hint


@pytest.mark.parametrize("card", [{}, {"license": None}, {"license": "unknown"}])
def test_a_missing_license_is_told_how_to_give_one(card: dict[str, Any]) -> None:
    assert license_of(card) == ""
    missing = license_missing(card)
    assert missing.code == "license_missing"
    assert "license: apache-2.0" in missing.hint


def test_every_spdx_id_is_read_in_small_letters() -> None:
    licensing = get_spdx_licensing()
    ids = [key for key, symbol in licensing.known_symbols.items() if not symbol.is_exception]
    assert len(ids) > 500
    for key in ids:
        assert license_of({"license": key.lower()}) == license_of({"license": key}) == key
