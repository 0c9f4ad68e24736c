"""All that is told of a README.md, by line, whatever it is."""

from pathlib import Path

import pytest

from registry.fair.card.contradictions import Computed
from registry.fair.card.findings import findings_in, spelled
from registry.validation.card import MAX_CARD_BYTES

TEXT = "# Galaxies\n\nSorts galaxies by their shapes, for surveys of the whole sky.\n"


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"---\nlicense: mit\ntags: [\n---\n", 4, "not YAML"),
        (b"---\nlicense: mit\n", 1, "no closing"),
        (b"---\na: 1\na: 2\n---\n", 3, "is repeated"),
        (b"# \xff\n", 1, "UTF-8"),
        (b"x" * (MAX_CARD_BYTES + 1), 1, "a card may have"),
    ],
    ids=["yaml", "open", "twice", "bytes", "huge"],
)
def test_what_cannot_be_read_is_one_finding(data: bytes, line: int, words: str) -> None:
    (finding,) = findings_in(data)
    assert (finding.line, finding.field, finding.code) == (line, "README.md", "invalid_card")
    assert words in finding.message
    assert finding.message[0].isupper()


def test_html_is_told_where_it_stands_and_comments_are_not() -> None:
    body = (
        f"{TEXT}\nText <b>bold</b>\nand <i>more</i>.\n\n<!-- a note -->\n\n"
        "<script>\nalert(1)\n</script>\n"
    )
    found = findings_in(f"---\nlicense: mit\n---\n{body}".encode())
    assert [(one.line, one.code, one.severity) for one in found] == [
        (8, "html_shown", "warning"),
        (9, "html_shown", "warning"),
        (13, "html_shown", "warning"),
    ]
    assert "<script>" in found[-1].message


def test_all_sorts_come_in_the_order_of_their_lines() -> None:
    matter = "license: mitt\nlibrary_name: openvino\nauthors: [{name: A, orcid: 1}]\n"
    data = f"---\n{matter}---\n{TEXT}\n<marquee>\n".encode()
    found = findings_in(data, computed=Computed(paths=("model.onnx",)))
    assert [(one.line, one.code) for one in found] == [
        (2, "license_unknown"),
        (3, "card_contradicts_files"),
        (4, "orcid_invalid"),
        (10, "html_shown"),
    ]


def test_a_finding_is_a_line_of_text() -> None:
    (finding,) = findings_in(f"---\nlicense: mitt\n---\n{TEXT}".encode())
    assert spelled(finding).startswith("README.md, line 2: The license 'mitt' is unknown")
    assert "Did you mean 'MIT'" in spelled(finding)


def test_the_example_in_the_docs_is_without_fault() -> None:
    docs = Path(__file__).parents[3] / "docs/cards.md"
    example = docs.read_text().partition("```yaml\n")[2].partition("```")[0]
    assert findings_in(f"---\nlicense: mit\n{example}---\n{TEXT}".encode()) == ()


def test_a_card_with_nothing_wrong_has_no_findings() -> None:
    assert findings_in(f"---\nlicense: mit\n---\n{TEXT}".encode()) == ()
    assert findings_in(b"") == ()
