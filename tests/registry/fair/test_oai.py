"""OAI-PMH 2.0: what harvesters ask, and what they are told."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair.datacite import document as datacite
from registry.fair.description import Description
from registry.fair.oai.payloads import PAYLOADS
from registry.fair.oai.provider import ListPart, OaiRecord, Provider, Repository, refusal
from registry.fair.oai.request import OaiError, Request, parse
from registry.fair.xmltree import element, render, writable
from tests.registry.fair.samples import EVERY, LEAST, MOST, PID, URL, WITHDRAWN
from tests.registry.fair.xml import DATACITE, DC, OAI, attributes, read, texts
from tests.validators.environments import run
from tests.validators.schemas import schema_at

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
REPOSITORY = Repository(
    name="Example <Hub>", base_url=f"{URL}/oai", emails=("a@example.org", "b@example.org"),
    earliest=datetime(2026, 3, 1, 12, tzinfo=UTC),
)  # fmt: skip
_CLIENT = Path(__file__).parent.parent.parent / "validators" / "oai_client.py"
_OAI_SCHEMA = "http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd"
_SCHEMA_PROGRAM = """
import pathlib, sys
from lxml import etree
schema = etree.XMLSchema(etree.parse(sys.argv[2]))
for path in pathlib.Path(sys.argv[1]).glob("*.xml"):
    schema.assertValid(etree.parse(path))
"""


def _asked(**arguments: str) -> Request:
    return parse(arguments.items(), PAYLOADS)


def _provider(**arguments: str) -> Provider:
    return Provider(REPOSITORY, _asked(**arguments), NOW)


def record_of(description: Description) -> OaiRecord:
    withdrawal = description.withdrawal
    return OaiRecord(
        identifier=description.pid,
        changed=withdrawal.at if withdrawal else description.modified,
        sets=(f"{description.kind}s",),
        description=None if withdrawal else description,
        is_deleted=withdrawal is not None,
    )


def _refused(*pairs: tuple[str, str]) -> str:
    with pytest.raises(OaiError) as caught:
        parse(pairs, PAYLOADS)
    return caught.value.code


@pytest.mark.slow
def test_a_harvester_of_others_reads_every_answer(tmp_path: Path) -> None:
    live, dead = [record_of(one) for one in EVERY.values()], record_of(WITHDRAWN)
    lists = {"verb": "ListRecords", "metadataPrefix": "oai_dc"}
    named = {"verb": "GetRecord", "metadataPrefix": "oai_datacite", "identifier": PID}
    answers = {
        "Identify": _provider(verb="Identify").identify(),
        "ListSets": _provider(verb="ListSets").list_sets(),
        "ListMetadataFormats": _provider(verb="ListMetadataFormats").list_metadata_formats(),
        "GetRecord": _provider(**named).get_record(live[1], "oai_datacite"),
        "ListRecords": _provider(**lists).list_records(
            live[:2], "oai_dc", ListPart(token="next & <more>", cursor=0, total=5)
        ),
        "ListRecords-next": _provider(
            verb="ListRecords", resumptionToken="next & <more>"
        ).list_records([*live[2:], dead], "oai_dc", ListPart(token="", cursor=2, total=5)),
        "ListIdentifiers": refusal(OaiError("noRecordsMatch", "None."), REPOSITORY, NOW, lists),
    }
    for name, answer in answers.items():
        (tmp_path / f"{name}.xml").write_bytes(answer)
    run("oai", "python", str(_CLIENT), str(tmp_path))


@pytest.mark.slow
def test_the_schemas_of_the_protocol_and_of_datacite_accept_every_answer(tmp_path: Path) -> None:
    asked = {"verb": "ListIdentifiers", "metadataPrefix": "datacite", "from": "2026-03-01"}
    page, records = (
        ListPart(token="t", cursor=0, total=4),
        [record_of(one) for one in EVERY.values()],
    )
    answers = [
        _provider(verb="Identify").identify(),
        _provider(verb="ListSets").list_sets(),
        _provider(verb="ListMetadataFormats", identifier=PID).list_metadata_formats(),
        _provider(**asked).list_identifiers(records, page),
        *(
            _provider(verb="ListRecords", metadataPrefix=prefix).list_records(records, prefix, page)
            for prefix in ("datacite", "oai_datacite")
        ),
        *(
            refusal(OaiError(code, "No <x>."), REPOSITORY, NOW, asked)
            for code in ("badArgument", "idDoesNotExist", "badResumptionToken", "noRecordsMatch")
        ),
    ]
    for number, answer in enumerate(answers):
        (tmp_path / f"{number}.xml").write_bytes(answer)
    # Metadata must be of a schema that is known, so that they are read together.
    schema = [
        element("xs:import", (), {"namespace": namespace, "schemaLocation": str(schema_at(url))})
        for namespace, url in (
            ("http://www.openarchives.org/OAI/2.0/", _OAI_SCHEMA),
            *(
                (PAYLOADS[one].namespace, PAYLOADS[one].schema)
                for one in ("datacite", "oai_datacite")
            ),
        )
    ]
    together = element("xs:schema", schema, {"xmlns:xs": "http://www.w3.org/2001/XMLSchema"})
    (tmp_path / "all.xsd").write_bytes(render(together))
    run("datacite", "python", "-c", _SCHEMA_PROGRAM, str(tmp_path), str(tmp_path / "all.xsd"))


@pytest.mark.parametrize("name", EVERY)
def test_dublin_core_agrees_with_the_description(name: str) -> None:
    description = EVERY[name]
    root = read(render(PAYLOADS["oai_dc"].write(description)))
    assert texts(root, f"{DC}title") == [description.title]
    assert texts(root, f"{DC}creator") == [agent.name for agent in description.creators]
    assert texts(root, f"{DC}date") == ["2026-03-01"]
    assert texts(root, f"{DC}publisher") == [description.hub.publisher.name]
    assert texts(root, f"{DC}identifier")[0] == description.pid
    assert texts(root, f"{DC}description") == [*filter(None, [description.description])]
    licence = description.license
    assert set(licence.uris if licence else ()) <= set(texts(root, f"{DC}rights"))
    assert texts(root, f"{DC}type") == ["Dataset" if description.kind == "dataset" else "Model"]


def test_dublin_core_of_the_least_holds_nothing_empty() -> None:
    root = read(render(PAYLOADS["oai_dc"].write(LEAST)))
    names = {one.tag.removeprefix(DC) for one in root}
    assert names == {
        "title", "publisher", "date", "type", "format", "identifier", "relation",
        "rights",
    }  # fmt: skip
    assert all(one.text for one in root)


@pytest.mark.parametrize("prefix", ["datacite", "oai_datacite"])
def test_a_record_holds_the_very_datacite_that_the_landing_page_serves(prefix: str) -> None:
    answer = _provider(verb="GetRecord", identifier=PID, metadataPrefix=prefix).get_record(
        record_of(MOST), prefix
    )
    inside = next(read(answer).iter(f"{DATACITE}resource"))
    alone = read(datacite.render_xml(MOST))
    assert [(one.tag, one.attrib, (one.text or "").strip()) for one in inside.iter()] == [
        (one.tag, one.attrib, (one.text or "").strip()) for one in alone.iter()
    ]


def test_identify_says_that_deleted_records_stay() -> None:
    root = read(_provider(verb="Identify").identify())
    assert texts(root, f"{OAI}repositoryName") == ["Example <Hub>"]
    assert texts(root, f"{OAI}deletedRecord") == ["persistent"]
    assert texts(root, f"{OAI}adminEmail") == ["a@example.org", "b@example.org"]
    assert texts(root, f"{OAI}earliestDatestamp") == ["2026-03-01T12:00:00Z"]
    assert texts(root, f"{OAI}responseDate") == ["2026-11-01T12:00:00Z"]
    assert list(attributes(root, f"{OAI}request")) == [{"verb": "Identify"}]
    assert texts(root, f"{OAI}request") == [f"{URL}/oai"]


def test_a_withdrawn_version_is_a_deleted_record() -> None:
    answer = _provider(verb="GetRecord", identifier=PID, metadataPrefix="oai_dc").get_record(
        record_of(WITHDRAWN), "oai_dc"
    )
    root = read(answer)
    assert list(attributes(root, f"{OAI}header")) == [{"status": "deleted"}]
    assert texts(root, f"{OAI}datestamp") == ["2026-04-02T08:30:00Z"]
    assert texts(root, f"{OAI}identifier") == [PID]
    assert not list(root.iter(f"{OAI}metadata"))


def test_a_header_alone_is_not_a_deleted_record() -> None:
    alone = replace(record_of(MOST), description=None)
    provider = _provider(verb="ListIdentifiers", metadataPrefix="oai_dc")
    root = read(provider.list_identifiers([alone]))
    assert list(attributes(root, f"{OAI}header")) == [{}]
    assert texts(root, f"{OAI}setSpec") == ["models"]


def test_lists_that_go_on_carry_a_token_and_the_last_part_an_empty_one() -> None:
    provider = _provider(verb="ListIdentifiers", metadataPrefix="oai_dc")
    root = read(
        provider.list_identifiers([record_of(LEAST)], ListPart(token="t", cursor=0, total=9))
    )
    assert texts(root, f"{OAI}resumptionToken") == ["t"]
    assert list(attributes(root, f"{OAI}resumptionToken")) == [
        {"completeListSize": "9", "cursor": "0"}
    ]
    last = read(provider.list_identifiers([record_of(LEAST)], ListPart(token="", cursor=8)))
    assert texts(last, f"{OAI}resumptionToken") == [""]
    alone = read(provider.list_identifiers([record_of(LEAST)]))
    assert not texts(alone, f"{OAI}resumptionToken")
    with pytest.raises(OaiError, match="No record"):
        provider.list_records([], "oai_dc")


def test_arguments_of_good_form_are_read() -> None:
    asked = _asked(verb="ListRecords", metadataPrefix="oai_dc", until="2026-03-01", set="models")
    assert asked.until == datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    assert (asked.since, asked.set_spec, asked.prefix) == (None, "models", "oai_dc")
    pairs = [
        ("verb", "ListRecords"),
        ("metadataPrefix", "oai_dc"),
        ("from", "2026-03-01T12:00:00Z"),
    ]
    for one in permutations(pairs):
        assert parse(one, PAYLOADS).since == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert _asked(verb="ListSets", resumptionToken="t").token == "t"


@pytest.mark.parametrize(
    ("code", "pairs"),
    [
        ("badVerb", []),
        ("badVerb", [("verb", "Nonsense")]),
        ("badVerb", [("verb", "Identify"), ("verb", "Identify")]),
        ("badArgument", [("verb", "Identify"), ("set", "models")]),
        ("badArgument", [("verb", "GetRecord"), ("identifier", PID)]),
        ("badArgument", [("verb", "ListRecords"), ("resumptionToken", "t"), ("set", "models")]),
        ("badArgument", [("verb", "ListRecords"), ("metadataPrefix", "<x>")]),
        ("badArgument", [("verb", "ListMetadataFormats"), ("identifier", "a b")]),
        ("cannotDisseminateFormat", [("verb", "ListRecords"), ("metadataPrefix", "marc")]),
    ],
)
def test_arguments_of_bad_form_are_refused_by_the_codes_of_the_standard(
    code: str, pairs: list[tuple[str, str]]
) -> None:
    assert _refused(*pairs) == code


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2026-03-01", "2026-03-01T12:00:00Z"),
        ("2026-03-02", "2026-03-01"),
        ("2026-3-01", "2026-3-01"),
        ("2026-02-30", "2026-03-01"),
        ("2026-03-01T12:00:00+", "2026-03-01T12:00:00+"),
        ("yesterday", "today"),
        ("", ""),
    ],
)
def test_periods_that_say_nothing_are_refused(since: str, until: str) -> None:
    pairs = [
        ("verb", "ListRecords"),
        ("metadataPrefix", "oai_dc"),
        ("from", since),
        ("until", until),
    ]
    assert _refused(*pairs) == "badArgument"


def test_a_refusal_repeats_the_arguments_unless_they_could_not_be_read() -> None:
    asked = {"verb": "GetRecord", "identifier": "x", "metadataPrefix": "oai_dc"}
    root = read(refusal(OaiError("idDoesNotExist", "No <x>."), REPOSITORY, NOW, asked))
    assert list(attributes(root, f"{OAI}request")) == [asked]
    assert list(attributes(root, f"{OAI}error")) == [{"code": "idDoesNotExist"}]
    bad = read(refusal(OaiError("badArgument", "No."), REPOSITORY, NOW, asked))
    assert list(attributes(bad, f"{OAI}request")) == [{}]


def _written(description: Description) -> bytes:
    asked = _provider(verb="GetRecord", identifier=PID, metadataPrefix="oai_dc")
    return asked.get_record(record_of(description), "oai_dc")


@given(st.text(min_size=1))
def test_texts_of_strangers_stay_texts(text: str) -> None:
    root = read(_written(replace(LEAST, title=text)))
    assert texts(root, f"{DC}title") == [writable(text)]


def test_each_record_with_metadata_has_the_rights_in_them() -> None:
    records = [record_of(MOST), record_of(LEAST), record_of(WITHDRAWN)]
    root = read(
        _provider(verb="ListRecords", metadataPrefix="oai_dc").list_records(records, "oai_dc")
    )
    rights = "{http://www.openarchives.org/OAI/2.0/rights/}rights"
    licences = [
        [one.get("ref") for one in record.iterfind(f"{OAI}about/{rights}/{rights}Reference")]
        for record in root.iter(f"{OAI}record")
    ]
    cc0 = "https://creativecommons.org/publicdomain/zero/1.0/"
    assert licences == [[cc0], [cc0], []], "a deleted record has no metadata"
