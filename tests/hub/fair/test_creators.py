"""Nobody is invented: whoever the authors do not name is unknown, in every form alike."""

import re

import pytest
from django.test import Client

from registry.fair.description import ResourceKind
from registry.fair.formats import formats_of
from registry.selectors.fair.identifier import pid_url
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import MLModel, Namespace, User
from tests.factories import make_mlmodel, readme
from tests.hub.fair.read_creators import CREATORS, NAMELESS, UNKNOWN, datacite_xml
from tests.registry.fair.xml import DC, read, texts

pytestmark = pytest.mark.django_db
_AUTHORS = ["Josiah Carberry", "Ada Beispiel"]
_KINDS: dict[ResourceKind, RepositoryKind] = {
    "model": RepositoryKind.MODEL,
    "dataset": RepositoryKind.DATASET,
}


def made(kind: ResourceKind, actor: User, **card: object) -> MLModel:
    files = {"README.md": readme(license="mit", **card), "data.csv": "a\n"}
    return make_mlmodel("lab/net", actor=actor, files=files, kind=_KINDS[kind])


def named_in(client: Client, page: str, pid: str, kind: ResourceKind) -> dict[str, list[str]]:
    """By form, the creators that it names; by name in triples, which have no order."""
    actual = {}
    for form in formats_of(kind):
        if form.name not in NAMELESS:
            answer = client.get(f"{page}/metadata/{form.name}")
            assert answer.status_code == 200, form.name
            actual[form.name] = CREATORS[form.name](answer.content)
    actual["oai_dc"] = texts(read(_oai(client, pid, "oai_dc")), f"{DC}creator")
    actual["oai_datacite"] = datacite_xml(_oai(client, pid, "oai_datacite"))
    (who,) = re.findall(r"\Aerc:\nwho: +(.*)$", client.get(f"{pid}?info").text, re.MULTILINE)
    actual["erc"] = who.split("; ")
    return actual


def _oai(client: Client, pid: str, prefix: str) -> bytes:
    query = {"verb": "GetRecord", "identifier": pid, "metadataPrefix": prefix}
    return client.get("/oai", query).content


def expected(kind: ResourceKind, names: list[str]) -> dict[str, list[str]]:
    forms = [one.name for one in formats_of(kind) if one.name not in NAMELESS]
    wanted = dict.fromkeys((*forms, "oai_dc", "oai_datacite", "erc"), names)
    wanted |= dict.fromkeys(("turtle", "rdfxml"), sorted(names))
    if names:
        return wanted
    spdx = {"spdx": ["NOASSERTION"]} if kind == "dataset" else {}
    return wanted | UNKNOWN | spdx


def pid_of(mlmodel: MLModel) -> str:
    return pid_url(mlmodel.identifiers.get(kind=IdentifierKind.CONCEPT).name)


def page_of(mlmodel: MLModel) -> str:
    prefix = "/datasets" if mlmodel.kind == RepositoryKind.DATASET else ""
    return f"{prefix}/{mlmodel.full_name}"


@pytest.mark.parametrize("kind", ["model", "dataset"])
@pytest.mark.parametrize("names", [_AUTHORS, []])
def test_every_form_names_the_creators_of_the_card_and_nobody_else(
    client: Client, charlie: User, lab: object, kind: ResourceKind, names: list[str]
) -> None:
    mlmodel = made(kind, charlie, **({"authors": names} if names else {}))
    actual = named_in(client, page_of(mlmodel), pid_of(mlmodel), kind)
    assert actual == expected(kind, names)


@pytest.mark.parametrize("names", [_AUTHORS, []])
def test_a_new_holder_is_no_creator(
    client: Client, charlie: User, lab: Namespace, names: list[str]
) -> None:
    mlmodel = made("model", charlie, **({"authors": names} if names else {}))
    pid = pid_of(mlmodel)
    moved = mlmodel_move(actor=charlie, mlmodel=mlmodel, namespace="charlie", name="net")
    assert named_in(client, page_of(moved), pid, "model") == expected("model", names)


def test_a_tombstone_names_the_same_creators(client: Client, charlie: User, lab: object) -> None:
    mlmodel = made("model", charlie)
    page, pid = page_of(mlmodel), pid_of(mlmodel)
    mlmodel_delete(actor=charlie, mlmodel=mlmodel, reason="Wrong.")
    actual = named_in(client, page, pid, "model")
    # OAI-PMH sends no metadata with deleted records.
    assert actual == expected("model", []) | {"oai_datacite": []}


def test_each_form_has_a_reader() -> None:
    assert CREATORS.keys() | NAMELESS == {one.name for one in formats_of("model")}
