"""How a version is cited: identifiers, citations, metadata formats; the record within its page."""

from typing import Any

from django.utils.safestring import SafeString, mark_safe

from registry.fair import ark, citation
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.iris import iri
from registry.fair.linked import jsonld
from registry.fair.parts import METADATA_LICENSE
from registry.fair.signposting import metadata_url

_NOUNS = {"model": "Model", "dataset": "Data set"}


def cited(description: Description) -> dict[str, Any]:
    """The context of ``mlmodel/cite.html`` and ``mlmodel/record.html``."""
    here = f"{description.hub.url}/"
    return {
        "description": description,
        "short_pid": description.pid.removeprefix(here),
        "short_concept_pid": description.concept_pid.removeprefix(here),
        "citations": [
            ("text", "Text", reference(description)),
            ("bibtex", "BibTeX", citation.render_bibtex(description).decode()),
            ("cff", "CITATION.cff", citation.render_cff(description).decode()),
        ],
        "documents": [
            (one.title, metadata_url(description, one)) for one in formats_of(description.kind)
        ],
        # Addresses in cards are those of strangers: iri() accepts web addresses only.
        "funding": [(one, iri(one.url)) for one in description.funding],
        "papers": [(one, iri(one.url)) for one in description.papers],
        "is_test_ark": ark.is_test(description.pid),
        "metadata_license": METADATA_LICENSE,
        "fair_share": fair_share(description),
    }


def fair_share(description: Description) -> float | None:
    """Earned share of the FAIR points, 0 to 1; ``None`` before the first assessment."""
    score = description.fair
    return score.points / score.of if score and score.of else None


def embedded_record(description: Description) -> SafeString:
    """JSON-LD for a script element of the landing page."""
    # jsonld.embedded() escapes what could end the script element.
    return mark_safe(jsonld.embedded(description))  # noqa: S308


def reference(description: Description) -> str:
    """A reference as DataCite recommends it (metadata schema 4.7, section 2.2)."""
    authors = "; ".join(one.name for one in description.creators)
    year = f"({description.published.year})"
    # A work without known creators is cited by its title.
    lead = f"{authors} {year}: {description.title} " if authors else f"{description.title} {year} "
    return (
        f"{lead}(version {description.version}). {description.hub.publisher.name}. "
        f"{_NOUNS[description.kind]}. {description.doi or description.pid}"
    )
