"""Commit messages in two parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.validation.texts import message_of, title_and_body


@pytest.mark.parametrize(
    ("title", "body", "message"),
    [
        ("Title", "", "Title"),
        ("Title", "Why.\n\nMore.", "Title\n\nWhy.\n\nMore."),
        (" Title \n", "\n Why. \n", "Title\n\nWhy."),
        ("", "Why.", "Why."),
    ],
)
def test_a_title_and_a_body_make_a_message(title: str, body: str, message: str) -> None:
    assert message_of(title, body) == message


@given(st.text("ab \n"), st.text("ab \n"))
def test_a_message_comes_apart_as_it_was_put_together(title: str, body: str) -> None:
    first, rest = title_and_body(message_of(title, body))
    assert "\n" not in first
    assert message_of(first, rest).split() == [*title.split(), *body.split()]
    if title.strip() and "\n" not in title.strip():
        assert (first, rest) == (title.strip(), body.strip())
