"""Editing a card: what is changed is changed, and nothing else."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.validation.card import parse
from registry.validation.card_edit import edit

README = """---
# who may use it
license: mit  # asked the lab
tags:
  - galaxy   # the topic
  - 'cnn'
# below tags

summary: |
  Two
  lines.

# the key nobody knows
my_key: {a: 1,
  b: [x]} # odd
---
# Galaxies

Text.
"""


def test_a_value_is_changed_and_its_comment_stays() -> None:
    assert edit(README, {"license": "apache-2.0"}) == README.replace(
        "mit ", "apache-2.0 ", 1
    ).replace("0  #", "0 #")


def test_a_list_is_changed_within_its_lines() -> None:
    old = "tags:\n  - galaxy   # the topic\n  - 'cnn'\n"
    assert edit(README, {"tags": ["star"]}) == README.replace(old, "tags:\n- star\n")


def test_a_text_of_several_lines_is_changed_within_its_lines() -> None:
    assert edit(README, {"summary": "One"}) == README.replace("|\n  Two\n  lines.", "One")


def test_a_key_is_removed_with_its_lines_alone() -> None:
    assert edit(README, {"my_key": None}) == README.replace("my_key: {a: 1,\n  b: [x]} # odd\n", "")


def test_a_new_key_comes_last() -> None:
    assert edit(README, {"version": "1.10"}) == README.replace(
        "---\n# Galaxies", "version: '1.10'\n---\n# Galaxies"
    )


def test_the_comment_behind_a_list_in_one_line_stays() -> None:
    readme = "---\ntags: [a] # why\n---\n"
    assert edit(readme, {"tags": ["b"]}) == "---\ntags: # why\n- b\n---\n"


def test_nothing_changes_where_all_is_as_wished() -> None:
    assert edit(README, {"license": "mit", "unheard": None}) == README


def test_truth_and_one_are_two_values() -> None:
    assert edit("---\na: 1\n---\n", {"a": True}) == "---\na: true\n---\n"


@pytest.mark.parametrize("body", ["", "Text.\n", "# Title\r\n\r\nText", "\n\nText\n"])
def test_a_readme_without_a_card_gets_one(body: str) -> None:
    edited = edit(body, {"license": "mit"})
    assert edited.endswith(body)
    assert parse(edited.encode()).values == {"license": "mit"}


def test_windows_line_ends_and_the_byte_order_mark_stay() -> None:
    readme = "\ufeff---\r\na: 1\r\nb: 2 # x\r\n---\r\nText.\r\n"
    assert edit(readme, {"a": [1]}) == "\ufeff---\r\na:\r\n- 1\r\nb: 2 # x\r\n---\r\nText.\r\n"


@pytest.mark.parametrize(
    "matter",
    [
        "{a: 1, b: 2}\n",
        "a: &x [1]\nb: *x\n",
        "? a\n: 1\nb: 2\n",
        "a: 1\n...\n",
        "  a: 1\n  b: 2\n",
        "b: |+\n  text\n\na: 1\n\n\n",
        "a:\nb: ''\n",
        "'a': 1\n\"b\": 2\n",
        "a: |\n  x\n  # not a comment\nb: 1\n",
        "null\n",
        "b:\n- x\n\n# about a\na: 1\n# end\n",
        'a: "x\u2028y"\nb: "\u2029"\n',
    ],
)
@pytest.mark.parametrize("changes", [{"a": "new"}, {"a": None}, {"c": ["new"]}, {"b": {"x": None}}])
def test_unusual_yaml_is_edited_by_its_values(matter: str, changes: dict[str, Any]) -> None:
    readme = f"---\n{matter}---\nBody\n"
    old = parse(readme.encode()).values
    edited = parse(edit(readme, changes).encode())
    wanted = old | changes
    if changes.get("a", "") is None:
        del wanted["a"]
    assert edited.values == wanted
    assert edited.body == "Body\n"


def test_an_indented_card_stays_indented() -> None:
    readme = "---\n  a: 1\n  b: 2 # two\n---\n"
    assert edit(readme, {"a": [1], "c": 3}) == "---\n  a:\n  - 1\n  b: 2 # two\n  c: 3\n---\n"


@pytest.mark.parametrize(
    ("readme", "changes"),
    [
        ("---\na: [\n---\n", {"b": 1}),
        ("---\na: 1\n", {"b": 1}),
        ("---\na: 1\n---\n", {"b": "\x07"}),
        ("---\na: 1\n---\n", {"b": "\ud800"}),
        ("---\na: 1\n---\n", {"tags": {"x": 1}}),
    ],
)
def test_what_is_no_card_is_refused(readme: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as caught:
        edit(readme, changes)
    assert caught.value.code == "invalid_card"


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.lists(texts, max_size=3).map("\n".join),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["a", "b", "no", "1", "x y", ""]) | texts


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(keys, json_values, max_size=4),
    st.dictionaries(keys, json_values, max_size=3),
    st.sampled_from([0, 9]),
    st.text("ab#\n- ", max_size=10),
)
def test_values_become_what_is_wished_and_the_body_stays(
    values: dict[str, Any], changes: dict[str, Any], width: int, body: str
) -> None:
    first = edit(f"x\n{body}", {key: value for key, value in values.items() if value is not None})
    if width and parse(first.encode()).values:
        matter = yaml.safe_dump(parse(first.encode()).values, default_flow_style=True, width=width)
        first = f"---\n{matter}---\nx\n{body}"
        try:
            parse(first.encode())
        except Invalid:
            return
    old = parse(first.encode())
    new = parse(edit(first, changes).encode())
    wanted = {key: value for key, value in (old.values | changes).items() if value is not None}
    assert new.values == wanted
    assert new.body == old.body


@given(st.sampled_from(["license", "tags", "summary", "my_key", "new"]), json_values)
@settings(deadline=None, max_examples=30)
def test_lines_of_other_keys_stay(key: str, value: Any) -> None:
    try:
        edited = edit(README, {key: value})
    except Invalid:
        # Of known keys, not every value is taken.
        assert key in {"license", "tags"}
        return
    for comment in ("# who may use it", "# below tags", "# the key nobody knows"):
        assert f"\n{comment}\n" in edited
    assert edited.endswith("---\n# Galaxies\n\nText.\n")
