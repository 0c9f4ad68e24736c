"""Cards checked before they are committed."""

from typing import Any
from unittest.mock import patch

import pytest
from huggingface_hub import ModelCard, RepoCard

from registry.errors import Invalid
from registry.selectors.repository.revision import readme_of, revision_get
from registry.tables import User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "api/validate-yaml"


def check(hub_url: str, content: Any) -> tuple[int, list[str], list[str]]:
    """Status, errors and warnings for a README.md."""
    answer = send(hub_url, None, ADDRESS, {"content": content, "repoType": "model"})
    found = answer.json()
    return (
        answer.status_code,
        [one["message"] for one in found["errors"]],
        [one["message"] for one in found["warnings"]],
    )


@pytest.mark.parametrize("license_", ["mit", "apache-2.0", "openrail++", "MIT OR Apache-2.0"])
def test_a_card_with_a_known_license_passes(hub_url: str, license_: str) -> None:
    assert check(hub_url, readme(license=license_)) == (200, [], [])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("---\nlicense: mit\ntags: [\n---\n", "README.md, line 4"),
        ("---\ntags: x\nlicense: freeware\n---\n", "README.md, line 3: The license 'freeware'"),
        ("---\nlicense: mit\nlicense: mit\n---\n", "is repeated"),
        ("---\nlicense: mit\n", "no closing"),
        ("x" * 1_048_577, "a card may have"),
    ],
    ids=["yaml", "license", "twice", "open", "huge"],
)
def test_what_would_not_be_committed_is_an_error_with_its_line(
    hub_url: str, content: str, said: str
) -> None:
    status, errors, warnings = check(hub_url, content)
    assert (status, len(errors), warnings) == (400, 1, [])
    assert said in errors[0]


@pytest.mark.parametrize("content", ["", "# Only text", readme(license=None, tags=["x"])])
def test_what_is_lacking_is_a_warning(hub_url: str, content: str) -> None:
    status, errors, warnings = check(hub_url, content)
    assert (status, errors, len(warnings)) == (200, [], 1)


def test_what_is_wrong_in_the_values_is_a_warning_with_its_line(hub_url: str) -> None:
    author = {"name": "A", "orcid": "0000-0002-1825-0098"}
    content = readme("<script>not asked about</script>\n", authors=[author], base_model="@x")
    status, errors, warnings = check(hub_url, content)
    assert (status, errors) == (200, [])
    assert [warning[:18] for warning in warnings] == ["README.md, line 4:", "README.md, line 5:"]
    assert "the iD is 0000-0002-1825-0097" in warnings[0]


@pytest.mark.parametrize("body", [{}, {"content": 1}, [1]])
def test_what_is_no_card_at_all_is_refused(hub_url: str, body: Any) -> None:
    assert send(hub_url, None, ADDRESS, body).status_code == 400


def test_the_clients_card_class_shows_the_lines(
    hub_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub_url)
    ModelCard(readme()).validate()
    with pytest.raises(ValueError, match=r"- Error: README\.md, line 2: The license 'freeware'"):
        ModelCard("---\nlicense: freeware\n---\n").validate()


def test_the_client_refuses_to_commit_a_card_with_errors_and_warns_of_what_it_lacks(
    api_of: ApiOf, alice: User
) -> None:
    net = make_mlmodel("alice/net", actor=alice)
    api, head = api_of(alice), revision_get(net)
    card = {"repo_id": "alice/net", "path_in_repo": "README.md"}
    with pytest.raises(ValueError, match=r"Invalid metadata in README\.md"):
        api.upload_file(path_or_fileobj=b"---\na: [\n---\n", **card)
    assert revision_get(net) == head
    with pytest.warns(UserWarning, match="The card has no license"):
        api.upload_file(path_or_fileobj=readme(license=None, tags=["x"]).encode(), **card)
    assert readme_of(revision_get(net)).startswith("# A model")


def test_a_malformed_index_of_results_is_refused_with_the_hubs_words(
    api_of: ApiOf, alice: User, hub_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = make_mlmodel("alice/net", actor=alice)
    api, head = api_of(alice), revision_get(net)
    text = readme(**{"model-index": [{"name": "net", "results": [{"task": {"type": "x"}}]}]})
    message = r'"model-index\[0\]\.results\[0\]\.dataset" is required'

    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub_url)
    with pytest.raises(ValueError, match=f"- Error: README.*{message}"):
        RepoCard(text).validate(repo_type="model")
    RepoCard(text).validate(repo_type="dataset")
    card = {"repo_id": "alice/net", "path_in_repo": "README.md"}
    with pytest.raises(ValueError, match=rf"Invalid metadata in README\.md(.|\n)*{message}"):
        api.upload_file(path_or_fileobj=text.encode(), **card)
    # Other clients do not ask first.
    with pytest.raises(Invalid, match=message):
        commit_files(net, {"README.md": text}, actor=alice)
    assert revision_get(net) == head


def test_an_older_malformed_index_does_not_block_other_files(alice: User) -> None:
    net = make_mlmodel("alice/net", actor=alice)
    text = readme(**{"model-index": "none"})
    with patch("registry.services.repository.draft.check_model_index"):
        commit_files(net, {"README.md": text}, actor=alice)

    commit_files(net, {"a.txt": "a"}, actor=alice)
    commit_files(net, {"README.md": readme()}, actor=alice)
