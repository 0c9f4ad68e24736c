"""DataCite 4.7: what its schemas say of our JSON and XML, and what stands in them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair.ark import TEST_NOTE
from registry.fair.datacite import document as datacite
from registry.fair.datacite import xml as datacite_xml
from registry.fair.parts import Agent, DerivationDescription, License, Reference
from registry.fair.xmltree import writable
from tests.registry.fair.samples import DATASET, EVERY, LEAST, MOST, PID, WITHDRAWN, file_of
from tests.registry.fair.xml import DATACITE, attributes, read, texts
from tests.validators.environments import run
from tests.validators.schemas import schema_at

#: The newest schema for JSON is that of 4.5; what 4.7 added to a list is added here.
_JSON_PROGRAM = """
import json, pathlib, sys
from datacite import schema45
schema = schema45.validator.schema
schema["definitions"]["relatedIdentifierType"]["enum"].append("SWHID")
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    document = json.loads(path.read_text())
    for error in schema45.validator.iter_errors(document):
        sys.exit(f"{path.name}: {error.json_path}: {error.message}")
    path.with_suffix(".theirs.xml").write_text(schema45.tostring(document))
"""
#: The newest schema for XML that a package has is that of 4.6, with the relation types of 4.7.
_PACKAGED_XML_SCHEMA = """
import pathlib, shutil, sys
import validator
copy = pathlib.Path(sys.argv[1])
shutil.copytree(pathlib.Path(validator.__file__).parent / "schema", copy)
identifiers = copy / "include" / "datacite-relatedIdentifierType-v4.xsd"
text = identifiers.read_text()
first = '<xs:enumeration value="ARK"/>'
assert first in text
identifiers.write_text(text.replace(first, f'{first}<xs:enumeration value="SWHID"/>'))
"""
_XML_PROGRAM = """
import pathlib, sys
from lxml import etree
schema = etree.XMLSchema(etree.parse(sys.argv[2]))
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.xml")):
    schema.assertValid(etree.parse(path))
"""
#: What a card may hold that the schemas want otherwise.
_ODD = replace(
    MOST,
    title='<script>alert("1")</script> & \U0001f600',
    languages=("not a language", "de-AT"),
    keywords=("a", "", "a", "image-classification"),
    creators=(replace(MOST.creators[0], affiliations=MOST.creators[0].affiliations * 2),),
    funding=MOST.funding * 2 + (replace(MOST.funding[0], award=None, url="https://x.org/a b"),),
    papers=(Reference(url="no address at all"), *MOST.papers),
)
ALL = EVERY | {"odd": _ODD}


def _document(name: str) -> dict[str, Any]:
    return datacite.document(ALL[name])


@pytest.fixture(scope="module")
def their_xml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What DataCite's own library makes of our JSON, once its schema has taken it."""
    folder = tmp_path_factory.mktemp("datacite")
    for name, description in ALL.items():
        (folder / f"{name}.json").write_bytes(datacite.render_json(description))
    run("datacite", "python", "-c", _JSON_PROGRAM, str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_our_xml_says_what_their_library_makes_of_our_json(their_xml: Path, name: str) -> None:
    theirs = _said((their_xml / f"{name}.theirs.xml").read_bytes())
    ours = _said(datacite.render_xml(EVERY[name]))
    # Without a DOI their library writes no identifier, which the schema requires: ours is the ARK.
    if not EVERY[name].doi:
        theirs.remove(("alternateIdentifier", PID, (("alternateIdentifierType", "ARK"),)))
        ours.remove(("identifier", PID, (("identifierType", "ARK"),)))
    assert ours == theirs


def _said(data: bytes) -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    return sorted(
        (one.tag.removeprefix(DATACITE), (one.text or "").strip(), tuple(sorted(one.items())))
        for one in read(data).iter()
        # The root differs in where the schema lies. Wrappers hold nothing.
        if not one.tag.endswith("resource") and ((one.text or "").strip() or one.attrib)
    )


@pytest.fixture
def our_xml(tmp_path: Path) -> Path:
    """A folder with the XML of all samples, among them text that XML cannot hold."""
    unwritable = replace(_ODD, title="\0\x0b\ufffe", description="\x1b[31m", version="\x7f\r")
    folder = tmp_path / "xml"
    folder.mkdir()
    for name, description in (ALL | {"unwritable": unwritable}).items():
        (folder / f"{name}.xml").write_bytes(datacite.render_xml(description))
    return folder


@pytest.mark.slow
def test_the_schema_of_4_7_accepts_our_xml(our_xml: Path) -> None:
    schema = schema_at(datacite_xml.SCHEMA)
    run("datacite", "python", "-c", _XML_PROGRAM, str(our_xml), str(schema))


@pytest.fixture
def packaged_schema(tmp_path: Path) -> Path:
    folder = tmp_path / "schema"
    run("datacite", "python", "-c", _PACKAGED_XML_SCHEMA, str(folder))
    return folder / "metadata.xsd"


@pytest.mark.slow
def test_the_schema_of_a_package_accepts_our_xml(our_xml: Path, packaged_schema: Path) -> None:
    run("datacite", "python", "-c", _XML_PROGRAM, str(our_xml), str(packaged_schema))


@pytest.mark.slow
def test_the_schema_of_a_package_refuses_unlisted_values(
    tmp_path: Path, packaged_schema: Path
) -> None:
    folder = tmp_path / "wrong"
    folder.mkdir()
    wrong = datacite.render_xml(MOST).replace(b"IsVersionOf", b"IsOpinionOf")
    (folder / "wrong.xml").write_bytes(wrong)
    with pytest.raises(AssertionError, match="IsOpinionOf"):
        run("datacite", "python", "-c", _XML_PROGRAM, str(folder), str(packaged_schema))


@pytest.mark.parametrize("name", ALL)
def test_the_fields_that_all_formats_share_agree(name: str) -> None:
    description, document = ALL[name], _document(name)
    assert document["titles"][0]["title"] == description.title
    assert document["version"] == description.version
    assert document["publicationYear"] == "2026"
    assert document["publisher"]["name"] == description.hub.publisher.name
    assert document["url"] == description.landing
    alternates = [one["alternateIdentifier"] for one in document["alternateIdentifiers"]]
    assert alternates == [description.pid, description.landing]
    assert f"{description.size_bytes} bytes" in document["sizes"]
    assert {"date": "2026-03-01", "dateType": "Issued"} in document["dates"]
    links = {
        one["relatedIdentifier"]: one["relationType"] for one in document["relatedIdentifiers"]
    }
    assert links[description.concept_pid] == "IsVersionOf"
    assert links[description.swhid] == "IsIdenticalTo"


def test_what_is_said_of_people_licences_and_grants_arrives() -> None:
    document = _document("most")
    first, second = document["creators"]
    assert first["nameIdentifiers"][0]["nameIdentifier"] == MOST.creators[0].orcid
    assert first["affiliation"][0]["affiliationIdentifier"] == "https://ror.org/05gq02987"
    assert "nameIdentifiers" not in second
    assert [one["rights"] for one in document["rightsList"]] == [
        "Apache-2.0", "open access", "Not for navigation.",
    ]  # fmt: skip
    assert document["rightsList"][0]["rightsUri"] == "https://spdx.org/licenses/Apache-2.0"
    assert document["fundingReferences"][0]["awardNumber"] == "101017207"
    assert document["doi"] == "10.5072/galaxy-cnn.v2"
    kinds = {one["name"]: one["contributorType"] for one in document["contributors"]}
    assert kinds == {
        "lab": "DataManager", "Example Lab": "HostingInstitution",
        "Grace Helper": "DataCurator", "Ada Beispiel": "ContactPerson",
    }  # fmt: skip
    assert datacite.document(DATASET)["types"]["resourceTypeGeneral"] == "Dataset"


def test_relations_lead_to_sources_versions_papers_and_builds() -> None:
    links = [
        (one["relationType"], one["relatedIdentifierType"], one["relatedIdentifier"])
        for one in _document("most")["relatedIdentifiers"]
    ]
    assert ("IsNewVersionOf", "ARK", MOST.versions[1]) in links
    assert ("IsDerivedFrom", "ARK", MOST.derived_from[0].pid) in links
    assert ("References", "DOI", "10.5072/zoo") in links
    assert ("IsDescribedBy", "DOI", "10.48550/arXiv.2001.00001") in links
    assert ("IsSupplementTo", "URL", "https://github.com/example/galaxy-cnn") in links
    assert ("IsOriginalFormOf", "URL", MOST.builds[0].url) in links
    assert ("HasPart", "URL", MOST.repetitions[0].url) in links
    needed = file_of("requirements.txt", "text/plain", "environment")
    more = datacite.document(replace(MOST, files=(*MOST.files, needed)))["relatedIdentifiers"]
    assert ("Requires", needed.url) in [
        (one["relationType"], one["relatedIdentifier"]) for one in more
    ]
    older = replace(MOST, pid=MOST.versions[1])
    relations = [one["relationType"] for one in datacite.document(older)["relatedIdentifiers"]]
    assert "IsPreviousVersionOf" in relations
    assert "IsNewVersionOf" not in relations


def test_a_quantised_network_is_a_variant_of_its_source() -> None:
    source = DerivationDescription(
        relation="quantized", source="a/b", url="https://arxiv.org/abs/2001.00001"
    )
    link = datacite.document(replace(LEAST, derived_from=(source,)))["relatedIdentifiers"][2]
    assert link["relationType"] == "IsVariantFormOf"
    assert link["relatedIdentifier"] == "arXiv:2001.00001"


def test_a_copy_is_identical_to_its_source() -> None:
    source = DerivationDescription(relation="copy", source="a/b", url="https://example.org/a/b")
    link = datacite.document(replace(LEAST, derived_from=(source,)))["relatedIdentifiers"][2]
    assert link["relatedIdentifier"] == "https://example.org/a/b"
    assert link["relationType"] == "IsIdenticalTo"


def test_what_is_absent_is_not_mentioned() -> None:
    document = _document("least")
    assert not document.keys() & {
        "doi",
        "subjects",
        "language",
        "fundingReferences",
    }
    assert [one["description"] for one in document["descriptions"]] == [f"Identifier: {TEST_NOTE}"]
    assert document["creators"] == [{"name": ":unav"}]
    assert [one["rights"] for one in document["rightsList"]] == ["open access"]
    root = read(datacite.render_xml(LEAST))
    assert texts(root, f"{DATACITE}identifier") == [PID]
    assert list(attributes(root, f"{DATACITE}identifier")) == [{"identifierType": "ARK"}]


def test_a_withdrawn_version_says_when_and_why() -> None:
    date = datacite.document(WITHDRAWN)["dates"][-1]
    assert date == {
        "date": "2026-04-02",
        "dateType": "Withdrawn",
        "dateInformation": "Superseded; found to be wrong.",
    }
    access = datacite.document(WITHDRAWN)["rightsList"][1]
    assert access["rightsUri"] == "http://purl.org/coar/access_right/c_14cb"


def test_licences_of_an_expression_and_those_spdx_does_not_list() -> None:
    both = License(
        expression="MIT OR LicenseRef-own",
        uris=("https://spdx.org/licenses/MIT", "https://example.org/own licence"),
        name="Our own",
    )
    rights = datacite.document(replace(LEAST, license=both))["rightsList"]
    assert [one["rights"] for one in rights[:3]] == ["MIT OR LicenseRef-own", "MIT", "Our own"]
    assert rights[2]["rightsUri"] == "https://example.org/own%20licence"


def test_only_a_name_written_with_a_comma_is_taken_apart() -> None:
    written = replace(LEAST, creators=(Agent(name="Carberry, Josiah"), Agent(name="Cher")))
    first, second = datacite.document(written)["creators"]
    assert (first["givenName"], first["familyName"]) == ("Josiah", "Carberry")
    assert second == {"name": "Cher", "nameType": "Personal"}


@given(st.text(min_size=1), st.text(min_size=1))
def test_texts_of_strangers_come_back_from_json_and_xml(title: str, text: str) -> None:
    odd = replace(LEAST, title=title, description=text, keywords=(text,))
    assert json.loads(datacite.render_json(odd))["titles"][0]["title"] == title
    root = read(datacite.render_xml(odd))
    expected = writable(text)
    assert texts(root, f"{DATACITE}description") == [expected, f"Identifier: {TEST_NOTE}"]
    assert texts(root, f"{DATACITE}subject") == [expected]


def test_the_same_description_gives_the_same_bytes() -> None:
    assert datacite.render_xml(MOST) == datacite.render_xml(replace(MOST))
    assert b"&lt;quickly&gt; &amp; well" in datacite.render_xml(MOST)
