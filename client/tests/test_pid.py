"""Identifiers in place of names: asked of the hub alone, remembered, refused in words."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hpcfair import cli, pid
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import BadInput, HubUnreachable, NotFound, Offline, Unavailable, Withdrawn
from hpcfair.resolution import StaleAnswerWarning

OID = "3f786850e387550fdab836ed7e6dc881de23001b"
VERSION, CONCEPT = "ark:/99999/h2x7k4q9mpr", "ark:/99999/h2b5n8w3tkx"
DOI = "10.82433/h2x7k4q9mpr"
X = np.arange(8, dtype=np.float32).reshape(2, 4)


def at(ark: str) -> str:
    return f"/api/v1/identifiers/{ark}"


@pytest.fixture
def named(hub: Any) -> dict[str, Any]:
    """What the hub says of the version; a change counts at once."""
    told: dict[str, Any] = {
        "ark": VERSION,
        "url": f"https://hub.example.org/{VERSION}",
        "kind": "version",
        "repository_kind": "model",
        "name": "lab/tiny",
        "revision": OID,
        "doi": DOI,
        "withdrawn_at": None,
        "reason": "",
    }
    hub.on("GET", at(VERSION), lambda _: told)
    concept = {**told, "ark": CONCEPT, "kind": "concept", "revision": None, "doi": None}
    hub.on("GET", at(CONCEPT), concept)
    moved = httpx.Response(302, headers={"Location": f"https://hub.example.org/{VERSION}"})
    hub.on("GET", f"/{DOI}", moved)
    return told


@pytest.mark.parametrize(
    "text",
    [
        VERSION,
        VERSION.replace(":/", ":"),
        VERSION.upper(),
        f"https://hub.test/{VERSION}",
        f"https://hub.example.org/{VERSION}?info",
        f"https://n2t.net/{VERSION}",
        f"doi:{DOI}",
        f"DOI:{DOI}",
        f"https://doi.org/{DOI}",
        f"http://dx.doi.org/{DOI}",
    ],
)
def test_every_spelling_leads_to_the_version(
    hub: Any, client: Client, named: dict[str, Any], text: str
) -> None:
    hub.on("GET", at(VERSION.upper().replace("ARK", "ark")), named)
    assert client.locate(text) == ("lab/tiny", OID)


def test_a_model_is_loaded_by_identifier_at_its_version(
    hub: Any,
    client: Client,
    named: dict[str, Any],
    resolution: dict[str, Any],
    sent: Callable[..., Any],
) -> None:
    with client.load(f"doi:{DOI}") as model:
        assert model(X).shape == (2, 3)
        assert model.name == "lab/tiny"
    (asked,) = hub.calls("POST", "/api/v1/models/lab/tiny/resolve")
    assert sent(asked)["revision"] == OID


def test_names_are_names_and_nobody_is_asked(hub: Any, client: Client) -> None:
    assert client.locate("lab/tiny", revision="v2") == ("lab/tiny", "v2")
    assert hub.requests == []


def test_of_all_versions_together_one_may_be_chosen(client: Client, named: dict[str, Any]) -> None:
    assert client.locate(CONCEPT) == ("lab/tiny", None)
    assert client.locate(CONCEPT, revision="v2") == ("lab/tiny", "v2")


def test_a_version_is_no_other_version(client: Client, named: dict[str, Any]) -> None:
    assert client.locate(VERSION, revision=OID[:7]) == ("lab/tiny", OID)
    with pytest.raises(BadInput, match=r"names the version 3f786850e387, and not 'v2'"):
        client.load(VERSION, revision="v2")


def test_the_token_goes_to_the_hub_alone(hub: Any, client: Client, named: dict[str, Any]) -> None:
    client.locate(f"doi:{DOI}")
    assert [(request.url.host, "Authorization" in request.headers) for request in hub.requests] == [
        ("doi.org", False),
        ("hub.test", True),
    ]


def test_a_doi_may_take_several_steps(hub: Any, client: Client, named: dict[str, Any]) -> None:
    hub.on("GET", f"/{DOI}", httpx.Response(301, headers={"Location": "/again"}))
    place = f"https://n2t.net/{VERSION}"
    hub.on("GET", "/again", httpx.Response(303, headers={"Location": place}))
    assert client.locate(f"doi:{DOI}") == ("lab/tiny", OID)


def test_a_doi_that_goes_in_circles_ends(hub: Any, client: Client) -> None:
    hub.on("GET", f"/{DOI}", httpx.Response(302, headers={"Location": f"/{DOI}"}))
    with pytest.raises(BadInput, match="no model of a hub"):
        client.locate(f"doi:{DOI}")
    assert len(hub.requests) == 10


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(302, headers={"Location": "https://zenodo.test/records/1"}),
        httpx.Response(302, headers={"Location": "ftp://old.test/"}),
        httpx.Response(200, text="here it is"),
    ],
)
def test_a_doi_of_something_else_says_where_it_leads(
    hub: Any, client: Client, answer: httpx.Response
) -> None:
    hub.on("GET", f"/{DOI}", answer)
    hub.on("GET", "/records/1", httpx.Response(403))
    with pytest.raises(BadInput, match=r"leads to (https://zenodo|ftp://old|https://doi\.org)"):
        client.locate(f"doi:{DOI}")


def test_another_hubs_model_is_not_loaded_from_there(hub: Any, client: Client) -> None:
    place = "https://evil.test/ark:/12345/x9"
    hub.on("GET", f"/{DOI}", httpx.Response(302, headers={"Location": place}))
    with pytest.raises(NotFound, match=r"evil\.test.*hub\.test knows nothing.*HPCFAIR_URL"):
        client.load(f"doi:{DOI}")
    assert {request.url.host for request in hub.requests} == {"doi.org", "hub.test"}


def test_the_hubs_own_words_are_kept(
    hub: Any, client: Client, answer: Callable[..., httpx.Response]
) -> None:
    refusal = answer(404, "identifier_not_found", "There is none.", "It was mistyped.")
    hub.on("GET", at(VERSION), refusal)
    for text in (VERSION, f"https://hub.test/{VERSION}"):
        with pytest.raises(NotFound, match="It was mistyped") as refused:
            client.load(text)
        assert refused.value.code == "identifier_not_found"


def test_what_was_withdrawn_says_when_and_why(client: Client, named: dict[str, Any]) -> None:
    named |= {"withdrawn_at": "2026-05-06T07:08:09Z", "reason": "Wrong labels."}
    with pytest.raises(Withdrawn, match=r"lab/tiny, was withdrawn on 2026-05-06\. Wrong labels\."):
        client.load(VERSION)


def test_a_data_set_is_no_model(client: Client, named: dict[str, Any]) -> None:
    named |= {"repository_kind": "dataset"}
    with pytest.raises(BadInput, match=r"is the data set lab/tiny.*hf download"):
        client.load(VERSION)


def test_a_name_that_is_none_is_not_taken_from_a_hub(client: Client, named: dict[str, Any]) -> None:
    named |= {"name": "../../etc"}
    with pytest.raises(BadInput):
        client.locate(VERSION)


@pytest.mark.parametrize("text", ["ark:", "doi:", "doi:11.1/x", "https://hub.test/lab/tiny"])
def test_what_is_no_identifier_is_refused_unasked(hub: Any, client: Client, text: str) -> None:
    with pytest.raises(BadInput, match="no identifier of a model"):
        client.load(text)
    assert hub.requests == []


def test_an_unknown_doi_is_not_found(hub: Any, client: Client) -> None:
    hub.on("GET", f"/{DOI}", httpx.Response(404))
    with pytest.raises(NotFound, match=r"https://doi\.org knows no doi:10\.82433"):
        client.locate(f"doi:{DOI}")


@pytest.mark.parametrize(
    ("faults", "kind", "said"),
    [
        ([httpx.ConnectError("refused")] * 4, HubUnreachable, "HPCFAIR_DOI_RESOLVER"),
        ([httpx.Response(503)] * 4, Unavailable, "503"),
    ],
)
def test_a_resolver_that_is_away_is_named_and_the_last_answer_counts(
    hub: Any, client: Client, named: dict[str, Any], faults: Any, kind: Any, said: str
) -> None:
    hub.faults = list(faults)
    with pytest.raises(kind, match=said):
        client.locate(f"doi:{DOI}")
    client.locate(f"doi:{DOI}")
    hub.faults = list(faults)
    with pytest.warns(StaleAnswerWarning, match="Using the answer of 20"):
        assert client.locate(f"doi:{DOI}") == ("lab/tiny", OID)


def test_offline_what_was_loaded_is_loaded_again(
    hub: Any, client: Client, named: dict[str, Any], resolution: dict[str, Any], config: Config
) -> None:
    client.load(VERSION)
    hub.requests.clear()
    offline = Client(config=dataclasses.replace(config, offline=True), transport=hub)
    with pytest.warns(StaleAnswerWarning):
        assert offline.load(VERSION).revision == OID
    assert hub.requests == []
    with pytest.raises(Offline):
        offline.load(CONCEPT)


def test_another_resolver_can_be_named(
    hub: Any, config: Config, named: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPCFAIR_DOI_RESOLVER", "https://doi.mirror.test/")
    assert Config.read().doi == "https://doi.mirror.test"
    mirrored = dataclasses.replace(config, doi="https://doi.mirror.test")
    with Client(config=mirrored, transport=hub) as client:
        client.locate(f"https://doi.org/{DOI}")
    assert hub.requests[0].url.host == "doi.mirror.test"


def test_the_command_pulls_into_the_folder_of_the_models_name(
    hub: Any, client: Client, named: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = {"oid": OID, "files": [hub.keep(b"weights", "model.onnx")]}
    hub.on("GET", f"/api/v1/models/lab/tiny/revisions/{OID}", revision)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.app, ["pull", VERSION], obj=client)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "tiny" / "model.onnx").read_bytes() == b"weights"


def test_a_doi_is_asked_for_and_waited_for(
    hub: Any, client: Client, sent: Callable[..., Any]
) -> None:
    job = {"uuid": "j1", "kind": "doi", "model": "lab/tiny", "state": "succeeded"}
    hub.on("POST", "/api/v1/models/lab/tiny/doi", {**job, "result": {"doi": DOI}})
    result = CliRunner().invoke(cli.app, ["doi", "lab/tiny", "--revision", "v1"], obj=client)
    assert result.stdout == f"https://doi.org/{DOI}\n"
    assert sent(hub.requests[0]) == {"revision": "v1"}


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    assert isinstance(pid.is_identifier(text), bool)
