"""Repositories: create, describe, list, change, move, copy, delete."""

import huggingface_hub
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from tests.clients.verbs.context import CARD, WEIGHTS, Context, refused
from tests.clients.verbs.table import works

AREA = "Repositories"


@works("create_repo", AREA, "A name in use is refused with 409, or accepted with `exist_ok`.")
def create_repo(of: Context) -> None:
    name = of.name()
    made = of.api.create_repo(name, private=True)
    assert made.repo_id == name
    assert of.api.model_info(name).private
    refused(HfHubHTTPError, lambda: of.api.create_repo(name), status=409)
    assert of.api.create_repo(name, exist_ok=True).repo_id == name
    refused(HfHubHTTPError, lambda: of.api.create_repo("bob/not-mine"), status=403)


@works("delete_repo", AREA, "Leaves a tombstone where it has an identifier.")
def delete_repo(of: Context) -> None:
    name = of.repo()
    of.api.delete_repo(name)
    assert not of.api.repo_exists(name)
    refused(RepositoryNotFoundError, lambda: of.api.delete_repo(name))
    of.api.delete_repo(name, missing_ok=True)


@works("move_repo", AREA, "The old address leads to the new one.")
def move_repo(of: Context) -> None:
    name, new = of.repo(), of.name()
    of.api.move_repo(name, new)
    assert of.api.model_info(name).id == new
    other = of.repo()
    refused(HfHubHTTPError, lambda: of.api.move_repo(other, new), new)


@works("duplicate_repo", AREA, "A copy with the same commits.")
def duplicate_repo(of: Context) -> None:
    name, new = of.repo({"a.txt": b"a"}), of.name()
    of.api.duplicate_repo(name, new)
    assert of.api.repo_info(new).sha == of.api.repo_info(name).sha
    refused(HfHubHTTPError, lambda: of.api.duplicate_repo(name, new), status=409)


@works("update_repo_settings", AREA, "`gated`, `private`, `visibility`.")
def update_repo_settings(of: Context) -> None:
    name = of.repo()
    of.api.update_repo_settings(name, private=True)
    assert of.api.model_info(name).private
    of.api.update_repo_settings(name, gated="manual")
    assert of.api.model_info(name).gated == "manual"


@works("update_repo_visibility", AREA, "As `update_repo_settings`.", of_older=True)
def update_repo_visibility(of: Context) -> None:
    name = of.repo()
    of.api.update_repo_visibility(name, private=True)
    assert of.api.model_info(name).private


@works("repo_info", AREA, "Of models and of data sets.")
def repo_info(of: Context) -> None:
    name = of.repo({"a.txt": b"a"}, kind="dataset")
    info = of.api.repo_info(name, repo_type="dataset", files_metadata=True)
    assert {file.rfilename: file.size for file in info.siblings}["a.txt"] == 1
    assert len(info.sha) == 40


@works("model_info", AREA, "With every property that `expand` may name.")
def model_info(of: Context) -> None:
    name = of.repo({"README.md": CARD, "model.safetensors": WEIGHTS})
    info = of.api.model_info(name, files_metadata=True, securityStatus=True)
    assert info.card_data["license"] == "mit"
    assert "license:mit" in info.tags
    assert {file.rfilename for file in info.siblings} >= {"README.md", "model.safetensors"}
    for prop in huggingface_hub.hf_api.ExpandModelProperty_T.__args__:
        assert of.api.model_info(name, expand=[prop]).id == name


@works("dataset_info", AREA, "With every property that `expand` may name.")
def dataset_info(of: Context) -> None:
    name = of.repo({"README.md": CARD}, kind="dataset")
    assert of.api.dataset_info(name).card_data["license"] == "mit"
    for prop in huggingface_hub.hf_api.ExpandDatasetProperty_T.__args__:
        assert of.api.dataset_info(name, expand=[prop]).id == name


@works("list_models", AREA, "`trendingScore` sorts by likes; emissions are not known.")
def list_models(of: Context) -> None:
    name = of.repo({"README.md": CARD})
    owned = [model.id for model in of.api.list_models(author="alice", filter="astronomy")]
    assert name in owned
    for order in ("created_at", "last_modified", "likes", "downloads", "trending_score"):
        assert list(of.api.list_models(author="alice", sort=order, limit=2))
    (newest,) = of.api.list_models(author="alice", sort="created_at", limit=1, full=True)
    assert newest.siblings
    hidden = of.repo(private=True)
    assert hidden not in {model.id for model in of.bob.list_models(author="alice")}


@works("list_datasets", AREA, "")
def list_datasets(of: Context) -> None:
    name = of.repo({"README.md": CARD}, kind="dataset")
    assert name in {row.id for row in of.api.list_datasets(author="alice", search="verb")}
    assert name in {row.id for row in of.api.list_datasets(filter="license:mit", full=True)}


@works("list_user_repos", AREA, "With the bytes that each takes, for members.")
def list_user_repos(of: Context) -> None:
    name = of.repo({"a.txt": b"a"})
    assert name in {row.id for row in of.api.list_user_repos()}
    refused(HfHubHTTPError, lambda: of.bob.list_user_repos("alice"))


@works("repo_exists", AREA, "")
def repo_exists(of: Context) -> None:
    name = of.repo(private=True)
    assert of.api.repo_exists(name)
    assert not of.bob.repo_exists(name)
    assert not of.nobody.repo_exists("alice/no-such-model")
    assert not of.api.repo_exists(name, repo_type="space")


@works("get_full_repo_name", AREA, "")
def get_full_repo_name(of: Context) -> None:
    assert of.api.get_full_repo_name("words") == "alice/words"
    assert of.api.get_full_repo_name("words", organization="lab") == "lab/words"


@works("get_model_tags", AREA, "Tags in use, by kind.")
def get_model_tags(of: Context) -> None:
    of.repo({"README.md": CARD})
    tags = of.api.get_model_tags()
    assert "license:mit" in {tag["id"] for tag in tags["license"]}


@works("get_dataset_tags", AREA, "Tags in use, by kind.")
def get_dataset_tags(of: Context) -> None:
    of.repo({"README.md": CARD}, kind="dataset")
    tags = of.api.get_dataset_tags()
    assert "license:mit" in {tag["id"] for tag in tags["license"]}


@works("unlike", AREA, "Likes are given on the pages.")
def unlike(of: Context) -> None:
    name = of.repo()
    of.api.unlike(name)
    refused(RepositoryNotFoundError, lambda: of.api.unlike("alice/no-such-model"))


@works("list_repo_likers", AREA, "")
def list_repo_likers(of: Context) -> None:
    assert list(of.api.list_repo_likers(of.repo())) == []
