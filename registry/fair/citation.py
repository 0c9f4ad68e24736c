"""Citations of a version: Citation File Format 1.2.0 and BibTeX.

BibTeX entries without known creators have no author. CFF requires one: its guide's word for authors
whose names are not known is the entity "anonymous".
"""

import re
from typing import Any

from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.description import Description
from registry.fair.iris import identifier_of
from registry.fair.names import name_parts
from registry.fair.parts import Agent, License
from registry.fair.serialise import drop_empty, yaml_bytes

_CFF_DOI = re.compile(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+")
_CFF_EMAIL = re.compile(r"\S+@\S+\.\S{2,}")
_CFF_URL = re.compile(r"(https?|s?ftp)://\S+")
_SPDX = "https://spdx.org/licenses/"
_ANONYMOUS = {"name": "anonymous"}
#: Licences in CFF 1.2.0's list (SPDX of 2021-05-14) that are used for models and data. All others
#: become ``license-url``, since an identifier outside the list makes the whole file invalid.
_CFF_LICENSES = frozenset({
    "0BSD", "AFL-3.0", "AGPL-3.0-only", "AGPL-3.0-or-later", "AML", "Apache-2.0", "Artistic-2.0",
    "BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Clear", "BSL-1.0", "CC-BY-2.0", "CC-BY-2.5",
    "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-ND-3.0",
    "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-2.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0",
    "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "CDLA-Permissive-1.0", "CDLA-Sharing-1.0",
    "ECL-2.0", "EPL-1.0", "EPL-2.0", "EUPL-1.1", "EUPL-1.2", "GPL-2.0-only", "GPL-2.0-or-later",
    "GPL-3.0-only", "GPL-3.0-or-later", "ISC", "LGPL-2.1-only", "LGPL-2.1-or-later",
    "LGPL-3.0-only", "LGPL-3.0-or-later", "LGPLLR", "LPPL-1.3c", "MIT", "MPL-2.0", "MS-PL",
    "NCSA", "ODC-By-1.0", "ODbL-1.0", "OFL-1.1", "OSL-3.0", "PDDL-1.0", "PostgreSQL", "Unlicense",
    "WTFPL", "Zlib", "etalab-2.0",
})  # fmt: skip
#: BibTeX counts escaped braces too, so they are written as commands.
_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\textbraceleft{}",
        "}": r"\textbraceright{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: f"\\{character}" for character in "$&#%_"},
    }
)
#: Addresses are read verbatim; only characters that would end the field are encoded.
_TEX_URL = str.maketrans({"{": "%7B", "}": "%7D", "\\": "%5C"})


def render_cff(description: Description) -> bytes:
    """CITATION.cff."""
    return yaml_bytes(document(description))


def document(description: Description) -> dict[str, Any]:
    """The content of CITATION.cff."""
    doi = _doi(description)
    return drop_empty(
        **{
            "cff-version": "1.2.0",
            "message": f"If you use this {_noun(description)}, please cite it as below.",
            # CFF has two types; a model is closer to software.
            "type": "dataset" if description.kind == "dataset" else "software",
            "title": description.title,
            "abstract": description.description,
            "authors": [_author(agent) for agent in description.creators] or [_ANONYMOUS],
            "contact": [_author(description.contact)] if description.contact else None,
            "version": description.version,
            "commit": description.oid,
            "date-released": description.published.date().isoformat(),
            "doi": doi,
            "identifiers": _identifiers(description, doi),
            "url": description.landing,
            "repository-code": _address(description.code.url) if description.code else None,
            "repository-artifact": description.concept_landing,
            "keywords": [one for one in dict.fromkeys(description.keywords) if one],
        },
        **(_license(description.license) if description.license else {}),
    )


def render_bibtex(description: Description) -> bytes:
    """One ``@misc`` entry, the type that every BibTeX style supports, with texts encoded for LaTeX
    on one line. UTF-8 letters stay, as BibLaTeX and current LaTeX read them."""
    lines = [f"@misc{{{_key(description)},"]
    lines += [f"  {name} = {{{value}}}," for name, value in bibtex_fields(description).items()]
    return "\n".join([*lines, "}", ""]).encode()


def bibtex_fields(description: Description) -> dict[str, str]:
    """The encoded fields of the entry."""
    withdrawn = description.withdrawal
    return drop_empty(
        author=" and ".join(_bibtex_name(agent) for agent in description.creators),
        title=f"{{{_tex(description.title)}}}",
        year=f"{description.published.year:04d}",
        version=_tex(description.version),
        publisher=_tex(description.hub.publisher.name),
        doi=_doi(description),
        url=description.pid.translate(_TEX_URL),
        note=f"Withdrawn on {withdrawn.at.date().isoformat()}" if withdrawn else None,
    )


def _noun(description: Description) -> str:
    return "data set" if description.kind == "dataset" else "model"


def _doi(description: Description) -> str | None:
    """The bare DOI, if both formats accept its form."""
    value = identifier_of(description.doi).value if description.doi else ""
    return value if _CFF_DOI.fullmatch(value) else None


def _address(url: str | None) -> str | None:
    return url if url and _CFF_URL.fullmatch(url) else None


def _author(agent: Agent) -> dict[str, str]:
    """A CFF person, with the name in its parts, or entity. An e-mail address is not a name."""
    email = agent.email if agent.email and _CFF_EMAIL.fullmatch(agent.email) else None
    website = _address(agent.url)
    if agent.kind == "organization":
        return drop_empty(name=agent.name, email=email, website=website or _address(agent.ror))
    name = name_parts("" if agent.name == email else agent.name)
    return drop_empty(
        **{
            "family-names": name.family,
            "given-names": name.given_names,
            "name-particle": name.particle,
            "name-suffix": name.suffix,
            "orcid": agent.orcid,
            "email": email,
            "affiliation": "; ".join(one.name for one in agent.affiliations),
            "website": website,
        }
    )


def _identifiers(description: Description, doi: str | None) -> list[dict[str, str]]:
    identifiers = [
        {"type": "doi", "value": doi, "description": "This version"} if doi else {},
        _ark(description.pid, "This version"),
        _ark(description.concept_pid, "All versions"),
        {"type": "swh", "value": description.swhid, "description": "The files of this version"},
        {"type": "swh", "value": description.swhid_revision, "description": "The commit"},
    ]
    return [one for one in identifiers if one]


def _ark(pid: str, target: str) -> dict[str, str]:
    text = f"{target}. {TEST_NOTE}" if is_test(pid) else target
    return {"type": "url", "value": pid, "description": text}


def _license(licence: License) -> dict[str, Any]:
    """``license`` if CFF lists all alternatives of the expression; else ``license-url``."""
    names = [uri.removeprefix(_SPDX) for uri in dict.fromkeys(licence.uris)]
    is_choice = not re.search(r"\b(AND|WITH)\b", licence.expression)
    if names and is_choice and _CFF_LICENSES.issuperset(names):
        return {"license": names[0] if len(names) == 1 else names}
    return drop_empty(**{"license-url": next(map(_address, licence.uris), None)})


def _key(description: Description) -> str:
    words = f"{description.repository}-{description.version}"
    return re.sub(r"[^A-Za-z0-9.-]+", "-", words).strip("-")


def _bibtex_name(agent: Agent) -> str:
    # BibTeX parses "Given Family" and "Family, Given"; any other name is put in braces.
    is_readable = agent.kind == "person" and not re.search(r"\band\b|,.*,|,\s*$|^\s*,", agent.name)
    return _tex(agent.name) if is_readable else f"{{{_tex(agent.name)}}}"


def _tex(text: str) -> str:
    visible = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(visible.split()).translate(_TEX)
