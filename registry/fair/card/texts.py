"""Texts of a card: of a key, else of a section with a common heading.

Headings are those of Hugging Face's templates for models and data sets, of their older versions,
and of Mitchell et al., "Model Cards for Model Reporting" (2019). Sections with other headings
belong to the section above them.
"""

from collections import defaultdict

from registry.fair.card.values import MAX_TEXT, CardReader, clean
from registry.fair.description import MIN_DESCRIPTION
from registry.validation.sections import is_placeholder, sections_of

_HEADINGS: dict[str, tuple[str, ...]] = {
    "intended_use": (
        *("uses", "use", "direct use", "downstream use", "intended use", "intended uses"),
        *("intended use cases", "intended uses and limitations", "primary intended uses"),
    ),
    "out_of_scope": (
        *("out of scope", "out of scope use", "out of scope uses", "out of scope use cases"),
        *("misuse and out of scope use", "misuse malicious use and out of scope use"),
    ),
    "limitations": (
        *("limitations", "known limitations", "limitations and bias", "limitations and biases"),
        *("bias risks and limitations", "risks and limitations", "bias", "biases"),
        *("risks limitations and biases", "caveats and recommendations"),
        *("discussion of biases", "other known limitations", "limits"),
    ),
    "ethics": (
        *("ethics", "ethical considerations", "ethical and legal considerations"),
        *("ethical considerations and limitations", "social impact of dataset"),
    ),
    "usage": (
        *("usage", "how to use", "how to get started with the model", "how to get started"),
        *("get started", "getting started", "quick start", "quickstart", "example usage"),
    ),
    "use_restrictions": ("use restrictions", "usage restrictions"),
}
_FIELD_OF = {words: field for field, headings in _HEADINGS.items() for words in headings}
#: Keys that take precedence over headings.
TEXT_KEYS = tuple(_HEADINGS)


def texts_of(reader: CardReader) -> dict[str, str | None]:
    """Each of :data:`TEXT_KEYS` with its text."""
    sections = _sections_by_field(reader.card.body)
    texts: dict[str, str | None] = {}
    for key in TEXT_KEYS:
        text = reader.top(key).text()
        texts[key] = text or clean(sections.get(key, ""))[:MAX_TEXT] or None
    return texts


def description_of(reader: CardReader) -> str | None:
    """The first paragraph, with a warning if it is short."""
    text = clean(reader.card.description)
    if not text or is_placeholder(text):
        return None
    if len(text) < MIN_DESCRIPTION:
        reader.at(
            reader.card.description_line,
            "description",
            "description_short",
            f"The description has {len(text)} characters; catalogues require {MIN_DESCRIPTION}.",
            "Describe in the first paragraph of README.md what it is, what it does and for whom.",
        )
    return text


def _sections_by_field(body: str) -> dict[str, str]:
    parts: defaultdict[str, list[str]] = defaultdict(list)
    # Levels of the enclosing headings with their fields.
    above: list[tuple[int, str]] = []
    for section in sections_of(body):
        above = [(level, field) for level, field in above if level < section.level]
        field = _FIELD_OF.get(section.words, "")
        inherited = above[-1][1] if above else ""
        above.append((section.level, field or inherited))
        if section.text and (field or inherited):
            parts[field or inherited].append(
                section.text if field else f"{section.title}\n\n{section.text}"
            )
    return {field: "\n\n".join(texts) for field, texts in parts.items()}
