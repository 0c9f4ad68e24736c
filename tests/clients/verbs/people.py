"""People, organisations, access to gated files, webhooks."""

import os

import huggingface_hub
from huggingface_hub.errors import BadRequestError, GatedRepoError, HfHubHTTPError

from tests.clients.verbs.context import Context, refused
from tests.clients.verbs.table import works

PEOPLE, GATED, WEBHOOKS = "People and organisations", "Gated access", "Webhooks"


@works("whoami", PEOPLE, "")
def whoami(of: Context) -> None:
    stored = of.api.whoami()
    assert (stored["name"], stored["auth"]["accessToken"]["role"]) == ("alice", "write")
    assert [org["name"] for org in of.charlie.whoami()["orgs"]] == ["lab"]
    refused(HfHubHTTPError, lambda: of.api.whoami(token="hpf_nobody"), "token", status=401)


@works("get_token_permission", PEOPLE, "", of_older=True)
def get_token_permission(of: Context) -> None:
    assert of.api.get_token_permission() == "write"


@works("get_user_overview", PEOPLE, "")
def get_user_overview(of: Context) -> None:
    assert of.api.get_user_overview("bob").fullname == "Bob Brown"
    refused(HfHubHTTPError, lambda: of.api.get_user_overview("no-one"), status=404)


@works("get_organization_overview", PEOPLE, "")
def get_organization_overview(of: Context) -> None:
    assert of.api.get_organization_overview("lab").fullname == "The Laboratory"
    refused(HfHubHTTPError, lambda: of.api.get_organization_overview("no-one"), status=404)


@works("list_organization_members", PEOPLE, "For members.")
def list_organization_members(of: Context) -> None:
    assert [row.username for row in of.charlie.list_organization_members("lab")] == ["charlie"]
    refused(HfHubHTTPError, lambda: of.bob.list_organization_members("lab"))


@works("list_organization_followers", PEOPLE, "Empty: nobody follows anybody here.")
def list_organization_followers(of: Context) -> None:
    assert list(of.api.list_organization_followers("lab")) == []


@works("list_user_followers", PEOPLE, "Empty: nobody follows anybody here.")
def list_user_followers(of: Context) -> None:
    assert list(of.api.list_user_followers("bob")) == []


@works("list_user_following", PEOPLE, "Empty: nobody follows anybody here.")
def list_user_following(of: Context) -> None:
    assert list(of.api.list_user_following("bob")) == []


@works("list_liked_repos", PEOPLE, "")
def list_liked_repos(of: Context) -> None:
    assert of.api.list_liked_repos().total == 0
    assert of.nobody.list_liked_repos("bob").models == []


@works("auth_check", PEOPLE, "")
def auth_check(of: Context) -> None:
    name = of.repo()
    of.api.auth_check(name)
    of.api.update_repo_settings(name, gated="manual")
    refused(GatedRepoError, lambda: of.bob.auth_check(name), status=403)


def _asked(of: Context) -> str:
    """A gated repository that bob has asked access to."""
    name = of.repo({"a.txt": b"a"})
    of.api.update_repo_settings(name, gated="manual")
    url = f"{of.api.endpoint}/{name}/ask-access"
    session = huggingface_hub.utils.get_session()
    token = {"Authorization": f"Bearer {os.environ['BOB_TOKEN']}"}
    answer = session.post(url, headers=token, json={"message": "For a paper"})
    assert answer.status_code == 200, answer.text
    return name


@works("list_pending_access_requests", GATED, "")
def list_pending_access_requests(of: Context) -> None:
    name = _asked(of)
    (row,) = of.api.list_pending_access_requests(name)
    assert (row.username, row.status, row.fields) == ("bob", "pending", {"message": "For a paper"})
    refused(HfHubHTTPError, lambda: of.bob.list_pending_access_requests(name))


@works("accept_access_request", GATED, "")
def accept_access_request(of: Context) -> None:
    name = _asked(of)
    refused(GatedRepoError, lambda: of.bob.hf_hub_download(name, "a.txt"))
    of.api.accept_access_request(name, "bob")
    of.bob.hf_hub_download(name, "a.txt")
    refused(HfHubHTTPError, lambda: of.api.accept_access_request(name, "bob"), status=404)


@works("list_accepted_access_requests", GATED, "")
def list_accepted_access_requests(of: Context) -> None:
    name = _asked(of)
    of.api.accept_access_request(name, "bob")
    assert [row.username for row in of.api.list_accepted_access_requests(name)] == ["bob"]


@works("reject_access_request", GATED, "")
def reject_access_request(of: Context) -> None:
    name = _asked(of)
    of.api.reject_access_request(name, "bob", rejection_reason="No paper")
    refused(GatedRepoError, lambda: of.bob.hf_hub_download(name, "a.txt"))


@works("list_rejected_access_requests", GATED, "")
def list_rejected_access_requests(of: Context) -> None:
    name = _asked(of)
    of.api.reject_access_request(name, "bob", rejection_reason="No paper")
    assert [row.username for row in of.api.list_rejected_access_requests(name)] == ["bob"]


@works("cancel_access_request", GATED, "")
def cancel_access_request(of: Context) -> None:
    name = _asked(of)
    of.api.accept_access_request(name, "bob")
    of.api.cancel_access_request(name, "bob")
    assert [row.username for row in of.api.list_pending_access_requests(name)] == ["bob"]


@works("grant_access", GATED, "Without a request.")
def grant_access(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    of.api.update_repo_settings(name, gated="auto")
    of.api.grant_access(name, "bob")
    of.bob.hf_hub_download(name, "a.txt")
    refused(BadRequestError, lambda: of.api.grant_access(name, "bob"))


def _webhook(of: Context) -> str:
    watched = [{"type": "user", "name": "alice"}]
    return str(of.api.create_webhook(url="https://example.org/hook", watched=watched).id)


@works("create_webhook", WEBHOOKS, "With `url`; `job_id` is refused.")
def create_webhook(of: Context) -> None:
    watched = [{"type": "model", "name": of.repo()}]
    made = of.api.create_webhook(url="https://example.org/hook", watched=watched, domains=["repo"])
    assert (made.url, made.domains, made.disabled) == ("https://example.org/hook", ["repo"], False)
    refused(
        BadRequestError,
        lambda: of.api.create_webhook(job_id="123", watched=watched),
        "This hub runs no jobs",
    )


@works("get_webhook", WEBHOOKS, "")
def get_webhook(of: Context) -> None:
    number = _webhook(of)
    assert of.api.get_webhook(number).watched[0].name == "alice"
    refused(HfHubHTTPError, lambda: of.bob.get_webhook(number), status=404)


@works("list_webhooks", WEBHOOKS, "")
def list_webhooks(of: Context) -> None:
    number = _webhook(of)
    assert number in {row.id for row in of.api.list_webhooks()}


@works("update_webhook", WEBHOOKS, "")
def update_webhook(of: Context) -> None:
    number = _webhook(of)
    assert of.api.update_webhook(number, url="https://example.org/b").url.endswith("/b")


@works("disable_webhook", WEBHOOKS, "")
def disable_webhook(of: Context) -> None:
    assert of.api.disable_webhook(_webhook(of)).disabled


@works("enable_webhook", WEBHOOKS, "")
def enable_webhook(of: Context) -> None:
    number = _webhook(of)
    of.api.disable_webhook(number)
    assert not of.api.enable_webhook(number).disabled


@works("delete_webhook", WEBHOOKS, "")
def delete_webhook(of: Context) -> None:
    number = _webhook(of)
    of.api.delete_webhook(number)
    refused(HfHubHTTPError, lambda: of.api.get_webhook(number), status=404)
