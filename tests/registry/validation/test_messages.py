"""Commit messages from a title and a body."""

import pytest

from registry.validation.texts import message_of


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
