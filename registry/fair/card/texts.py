"""What a card says in sentences: under a key, else under the headings people write.

Headings are those of the Hugging Face Hub's templates for models and data sets, of their older
versions, and of Mitchell et al., "Model Cards for Model Reporting" (2019). A heading that is not
known belongs to the known one it stands below.
"""

from collections import defaultdict

from registry.fair.card.values import MAX_TEXT, CardReader, clean
from registry.validation.sections import is_placeholder, sections_of

MIN_DESCRIPTION = 50

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
#: The keys that win over headings.
TEXT_KEYS = tuple(_HEADINGS)


def texts_of(notes: CardReader) -> dict[str, str | None]:
    """Each of :data:`TEXT_KEYS` with its text."""
    sections = _sections_by_field(notes.card.body)
    texts: dict[str, str | None] = {}
    for key in TEXT_KEYS:
        said = notes.top(key).text()
        texts[key] = said or clean(sections.get(key, ""))[:MAX_TEXT] or None
    return texts


def description_of(notes: CardReader) -> str | None:
    """The first paragraph, with a warning if it says little."""
    text = clean(notes.card.description)
    if not text or is_placeholder(text):
        return None
    if len(text) < MIN_DESCRIPTION:
        notes.at(
            notes.card.description_line,
            "description",
            "description_short",
            f"The description has {len(text)} characters; catalogues want {MIN_DESCRIPTION}.",
            "Say in the first paragraph of README.md what it is, what it does and for whom.",
        )
    return text


def _sections_by_field(body: str) -> dict[str, str]:
    parts: defaultdict[str, list[str]] = defaultdict(list)
    # The headings that the present one stands below, with the fields they belong to.
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
