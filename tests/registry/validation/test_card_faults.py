"""What people are told about a card before they commit it. See also tests/hub/hf/test_card.py."""

from hypothesis import given
from hypothesis import strategies as st

from registry.validation.card_faults import card_faults
from tests.factories import readme


def test_a_complete_card_has_no_faults() -> None:
    assert card_faults(readme()) == ([], [])


def test_a_lone_surrogate_is_found_in_its_line() -> None:
    errors, warnings = card_faults("---\nlicense: \ud800\n---\n")
    assert errors[0].startswith("README.md, line 2: this is not UTF-8 text")
    assert not warnings


@given(
    st.text(st.characters()) | st.text("-\n:[]{}&*!|>'\"#ab \ud800").map("---\n{}\n---\n".format)
)
def test_any_text_gets_words_for_an_answer(text: str) -> None:
    errors, warnings = card_faults(text)
    assert len(errors) + len(warnings) <= 1
    assert all(isinstance(word, str) for word in errors + warnings)
