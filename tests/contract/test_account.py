"""Who asks, and what a token may do."""

from collections.abc import Callable

import pytest

from hpcfair.client import Client
from hpcfair.config import Config, config_file
from hpcfair.default import login
from hpcfair.errors import Forbidden, HubUnreachable, ModelNotFound, Unauthenticated
from registry.services.people.token import token_revoke
from registry.states import Scope
from registry.tables import MLModel, Token, User
from tests.factories import make_token, readme, tiny_onnx

CARD = {"license": "apache-2.0"}


def test_whoami_tells_the_person_the_token_and_the_namespaces(as_alice: Client) -> None:
    account = as_alice.whoami()

    assert (account.name, account.full_name) == ("alice", "Alice Adams")
    assert account.namespaces[0]["name"] == "alice"
    assert account.token is not None
    assert account.token["scope"] == "write"


def test_without_a_token_public_models_can_be_read_but_not_written(
    client_of: Callable[..., Client], galaxy: MLModel
) -> None:
    nobody = client_of()

    assert nobody.info("lab/galaxy-cnn").name == "lab/galaxy-cnn"
    with pytest.raises(Unauthenticated) as refusal:
        nobody.save(tiny_onnx(), "lab/other", card=CARD)
    assert refusal.value.code == "not_authenticated"


def test_a_private_model_does_not_exist_for_others(
    as_alice: Client, client_of: Callable[..., Client], charlie: User, secret: MLModel
) -> None:
    assert client_of(charlie).info("lab/secret").visibility == "private"
    with pytest.raises(ModelNotFound):
        as_alice.info("lab/secret")


def test_a_token_that_only_reads_cannot_write(
    client_of: Callable[..., Client], alice: User
) -> None:
    with pytest.raises(Forbidden) as refusal:
        client_of(alice, Scope.READ).save(tiny_onnx(), "alice/x", card=CARD)
    assert refusal.value.code == "scope_missing"


def test_a_namespace_of_others_is_refused(as_alice: Client, galaxy: MLModel) -> None:
    with pytest.raises(Forbidden):
        as_alice.save(readme().encode(), "lab/galaxy-cnn", card=CARD)


def test_a_revoked_token_is_refused(as_alice: Client, alice: User) -> None:
    token = Token.objects.get(user=alice)
    token_revoke(actor=alice, token_uuid=token.uuid)

    with pytest.raises(Unauthenticated) as refusal:
        as_alice.whoami()
    assert refusal.value.code == "token_revoked"
    assert isinstance(refusal.value, PermissionError)


def test_login_keeps_a_token_that_the_hub_takes(
    live_server: object,
    client_of: Callable[..., Client],
    alice: User,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: object,
) -> None:
    monkeypatch.setenv("HPCFAIR_CONFIG", str(tmp_path))
    url = client_of().config.url
    secret = make_token(alice)

    assert login(secret, url).name == "alice"

    assert Config.read().url == url
    assert Config.read().token == secret
    with pytest.raises(Unauthenticated):
        login(secret[:-1] + ("x" if secret[-1] != "x" else "y"), url)
    assert secret in config_file().read_text()


def test_a_page_that_is_not_the_api_is_no_hub(client_of: Callable[..., Client]) -> None:
    with (
        Client(client_of().config.url + "/nowhere") as below,
        pytest.raises((HubUnreachable, FileNotFoundError)),
    ):
        below.whoami()
