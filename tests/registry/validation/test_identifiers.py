"""Identifiers and vocabularies in cards: what is right has one spelling, what is wrong is told."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.validation.findings import InvalidValue
from registry.validation.identifiers import orcid_url, ror_url
from registry.validation.license_text import recognise
from registry.validation.references import arxiv_url, doi_url, reference_url, web_address
from registry.validation.vocabularies import TERMS, credit_term, language_code


@pytest.mark.parametrize(
    "text",
    ["0000-0002-1825-0097", " https://orcid.org/0000-0002-1825-0097/", "0000000218250097"],
)
def test_an_orcid_is_taken_however_it_is_written(text: str) -> None:
    assert orcid_url(text) == "https://orcid.org/0000-0002-1825-0097"


def test_an_orcid_may_end_in_x() -> None:
    assert orcid_url("orcid:0000-0002-1694-233x") == "https://orcid.org/0000-0002-1694-233X"


def test_the_right_check_digit_of_an_orcid_is_said() -> None:
    with pytest.raises(InvalidValue) as caught:
        orcid_url("0000-0002-1825-0098")
    assert caught.value.code == "orcid_invalid"
    assert "0000-0002-1825-0097" in caught.value.fix


@given(st.integers(0, 10**15 - 1), st.integers(0, 14), st.integers(1, 9))
def test_no_mistyped_digit_of_an_orcid_passes(number: int, place: int, step: int) -> None:
    digits = f"{number:015}"
    (right,) = [digits + last for last in "0123456789X" if passes(digits + last)]
    wrong = str((int(digits[place]) + step) % 10)
    assert not passes(right[:place] + wrong + right[place + 1 :])


def passes(digits: str) -> bool:
    try:
        orcid_url(digits)
    except InvalidValue:
        return False
    return True


@pytest.mark.parametrize("text", ["05gq02987", "https://ror.org/05dxps055", "ror.org/00K4N6C32"])
def test_a_ror_is_taken_however_it_is_written(text: str) -> None:
    assert ror_url(text) == f"https://ror.org/{text[-9:].lower()}"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("05gq02988", "https://ror.org/05gq02987"),
        ("15gq02987", "https://ror.org"),
        ("Brown University", "https://ror.org"),
        ("05gl02987", "https://ror.org"),
    ],
)
def test_a_wrong_ror_is_told(text: str, fix: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        ror_url(text)
    assert caught.value.code == "ror_invalid"
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("text", "term"),
    [
        *((term, term) for term in TERMS),
        ("data CURATION", "Data curation"),
        ("visualisation", "Visualization"),
        ("Writing - review and editing", "Writing – review & editing"),
        ("https://credit.niso.org/contributor-roles/formal-analysis/", "Formal analysis"),
    ],
)
def test_a_role_is_taken_however_it_is_written(text: str, term: str) -> None:
    assert credit_term(text) == term


def test_the_nearest_role_is_offered() -> None:
    with pytest.raises(InvalidValue) as caught:
        credit_term("Sofware")
    assert caught.value.fix.startswith("Did you mean 'Software'?")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("10.1038/s41597-022-01712-9", "https://doi.org/10.1038/s41597-022-01712-9"),
        ("doi:10.5072/a<b>", "https://doi.org/10.5072/a%3Cb%3E"),
        ("http://dx.doi.org/10.5072/a%3Cb", "https://doi.org/10.5072/a%3Cb"),
        ("1810.03993", "https://doi.org/10.48550/arXiv.1810.03993"),
        ("https://arxiv.org/pdf/1810.03993v2.pdf", "https://doi.org/10.48550/arXiv.1810.03993"),
        ("arXiv:math.GT/0309136", "https://doi.org/10.48550/arXiv.math/0309136"),
        ("https://example.org/paper?a=1", "https://example.org/paper?a=1"),
    ],
)
def test_references_become_addresses(text: str, url: str) -> None:
    assert reference_url(text) == url


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "example.org",
        "https://",
        "https://a b",
        "ftp://x.org",
        "https://ü.org",
    ],
)
def test_what_is_no_address_is_told(text: str) -> None:
    for check in (web_address, reference_url):
        with pytest.raises(InvalidValue) as caught:
            check(text)
        assert caught.value.code == "url_invalid"


def test_a_dataset_of_seven_digits_is_no_preprint() -> None:
    for check, text in ((arxiv_url, "lab/1234567"), (arxiv_url, "1234.56789"), (doi_url, "11.1/x")):
        with pytest.raises(InvalidValue):
            check(text)


@given(st.text())
def test_any_text_is_an_address_or_a_fault(text: str) -> None:
    for check in (orcid_url, ror_url, doi_url, arxiv_url, web_address):
        with contextlib.suppress(InvalidValue):
            assert check(text).isascii()


@pytest.mark.parametrize(
    ("text", "code"),
    [("en", "en"), ("deu", "de"), ("pt_BR", "pt-BR"), ("multilingual", "mul"), ("Code", "")],
)
def test_languages_have_one_code(text: str, code: str) -> None:
    assert language_code(text) == code


@pytest.mark.parametrize("text", ["xx", "English", "zzz", "<b>", "-"])
def test_no_language_is_told(text: str) -> None:
    with pytest.raises(InvalidValue, match="is not a language code"):
        language_code(text)


@pytest.mark.parametrize(
    ("text", "license_"),
    [
        ("Apache License\n   Version 2.0, January 2004\n", "Apache-2.0"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", "GPL-3.0-"),
        ("GNU LESSER GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", "LGPL-3.0-"),
        ("Creative Commons Attribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("// SPDX-License-Identifier: EUPL-1.2\n", "EUPL-1.2"),
        ("Do as you like.", ""),
    ],
)
def test_known_licenses_are_told_by_their_texts(text: str, license_: str) -> None:
    assert recognise(text) == license_
