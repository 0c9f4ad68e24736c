"""Sections of a README, and the lines of values in its card."""

from hypothesis import given
from hypothesis import strategies as st

from registry.validation.card import parse
from registry.validation.sections import sections_of

BODY = """Above.

# Model Card for <b>X</b>

## 🤗 Uses [optional]

<!-- Who is
it for? -->

Sorting *galaxies*.
<script>alert(1)</script>

### Out-of-Scope Use

[More Information Needed]

```python
# no heading
```

Limits & bias
-------------
Few.
"""


def test_headings_split_a_readme() -> None:
    found = {section.words: section.text for section in sections_of(BODY)}
    assert found == {
        "model card for x": "",
        "uses": "Sorting *galaxies*.\n<script>alert(1)</script>",
        "out of scope use": "```python\n# no heading\n```",
        "limits and bias": "Few.",
    }
    assert [section.line for section in sections_of(BODY)] == [3, 5, 13, 21]


def test_windows_line_ends_are_none_of_the_text() -> None:
    (section,) = sections_of("# A\r\n\r\nx\r\ny\r\n")
    assert section.text == "x\ny"


@given(st.text("#<!-> \n[]ab"))
def test_any_body_has_sections_in_order(body: str) -> None:
    lines = [section.line for section in sections_of(body)]
    assert lines == sorted(set(lines))


def test_lines_are_known_inside_lists_and_mappings() -> None:
    card = parse(
        b"\n---\nauthors:\n- name: A\n  roles: [x,\n    y]\n-\n- {name: B,\n   orcid: z}\n"
        b'about: "a\xe2\x80\xa8b"\nlast: 1\n---\n\nThe first\nparagraph.\n'
    )
    ways = {
        ("authors",): 3,
        ("authors", 0): 4,
        ("authors", 0, "name"): 4,
        ("authors", 0, "roles", 1): 6,
        ("authors", 1): 7,
        ("authors", 2, "orcid"): 9,
        ("authors", 2, "unheard", 5): 8,
        ("last",): 11,
        ("unheard",): 1,
    }
    assert {way: card.line_of(way) for way in ways} == ways
    assert (card.description, card.description_line) == ("The first paragraph.", 14)
