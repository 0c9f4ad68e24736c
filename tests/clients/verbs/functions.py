"""Functions and classes beside ``HfApi``: cards, mixins, schedulers, sign-in."""

from pathlib import Path

import huggingface_hub
from huggingface_hub import (
    CommitScheduler,
    DatasetCard,
    ModelCard,
    ModelHubMixin,
    SpaceCard,
    metadata_update,
)
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from tests.clients.verbs.absent import SPACE
from tests.clients.verbs.context import CARD, Context, refused
from tests.clients.verbs.table import Result, Verb, add, works

#: Where ``validate-yaml`` of huggingface.co was asked.
_VALIDATED_ELSEWHERE = ("2.0", "sends the card to huggingface.co to validate it")
CARDS, OTHERS = "Cards", "Other functions and classes"


class _Saved(ModelHubMixin):
    """A network that is one file."""

    def __init__(self, size: int) -> None:
        self.size = size

    def _save_pretrained(self, save_directory: Path) -> None:
        (save_directory / "weights.bin").write_bytes(b"w" * self.size)

    @classmethod
    def _from_pretrained(cls, *, model_id: str, size: int = 0, **_: object) -> "_Saved":
        path = huggingface_hub.hf_hub_download(model_id, "weights.bin")
        loaded = cls(size)
        assert Path(path).stat().st_size == size
        return loaded


@works("ModelCard.load", CARDS, "")
def modelcard_load(of: Context) -> None:
    card = ModelCard.load(of.repo({"README.md": CARD}))
    assert card.data.license == "mit"
    refused(RepositoryNotFoundError, lambda: ModelCard.load("alice/no-such-model"))


@works("ModelCard.validate", CARDS, "", before=_VALIDATED_ELSEWHERE)
def modelcard_validate(of: Context) -> None:
    ModelCard(CARD.decode()).validate()
    refused(ValueError, lambda: ModelCard("---\nlicense: none-such\n---\n").validate(), "license")


@works("ModelCard.push_to_hub", CARDS, "", before=_VALIDATED_ELSEWHERE)
def modelcard_push(of: Context) -> None:
    name = of.repo()
    ModelCard(CARD.decode()).push_to_hub(name)
    assert of.api.model_info(name).card_data["license"] == "mit"
    ModelCard(CARD.decode()).push_to_hub(name, create_pr=True)


@works("DatasetCard.load", CARDS, "")
def datasetcard_load(of: Context) -> None:
    assert DatasetCard.load(of.repo({"README.md": CARD}, kind="dataset")).data.license == "mit"


@works("DatasetCard.push_to_hub", CARDS, "", before=_VALIDATED_ELSEWHERE)
def datasetcard_push(of: Context) -> None:
    name = of.repo(kind="dataset")
    DatasetCard(CARD.decode()).push_to_hub(name)
    assert of.api.dataset_info(name).card_data["license"] == "mit"


@works("metadata_update", CARDS, "", before=_VALIDATED_ELSEWHERE)
def update_metadata(of: Context) -> None:
    name = of.repo({"README.md": CARD})
    metadata_update(name, {"library_name": "onnx"})
    assert of.api.model_info(name).card_data["library_name"] == "onnx"
    refused(ValueError, lambda: metadata_update(name, {"license": "gpl-3.0"}), "overwrite")
    metadata_update(name, {"license": "gpl-3.0"}, overwrite=True)


@works("ModelHubMixin.push_to_hub", OTHERS, "", before=_VALIDATED_ELSEWHERE)
def mixin_push(of: Context) -> None:
    name = of.name()
    _Saved(size=7).push_to_hub(name)
    assert {"config.json", "README.md", "weights.bin"} <= set(of.api.list_repo_files(name))


@works("ModelHubMixin.from_pretrained", OTHERS, "", before=_VALIDATED_ELSEWHERE)
def mixin_load(of: Context) -> None:
    name = of.name()
    _Saved(size=7).push_to_hub(name)
    assert _Saved.from_pretrained(name).size == 7


@works("CommitScheduler", OTHERS, "")
def scheduler(of: Context) -> None:
    name = of.name()
    folder = of.new_folder({"log.txt": b"first\n"})
    scheduler = CommitScheduler(repo_id=name, folder_path=folder, every=600)
    try:
        scheduler.trigger().result()
        (folder / "log.txt").write_bytes(b"first\nsecond\n")
        scheduler.trigger().result()
    finally:
        scheduler.stop()
    path = of.api.hf_hub_download(name, "log.txt")
    assert Path(path).read_bytes() == b"first\nsecond\n"


@works("login", OTHERS, "With `token`; a wrong one is refused.")
def login(of: Context) -> None:
    huggingface_hub.login(token=of.api.token or huggingface_hub.get_token())
    refused(HfHubHTTPError, lambda: huggingface_hub.login(token="hpf_wrong"), "Invalid user token")


def _space_card(of: Context) -> None:
    refused(RepositoryNotFoundError, lambda: SpaceCard.load(SPACE), "does not offer Spaces")


add(Verb("SpaceCard.load", "Spaces", Result.REFUSED, "", _space_card))

#: Functions of the package that ask no hub, or are made of verbs above in other packages' types.
LOCAL = frozenset(
    {
        *("_save_pretrained_fastai", "from_pretrained_fastai", "push_to_hub_fastai"),
        *("attach_huggingface_oauth", "parse_huggingface_oauth", "webhook_endpoint"),
        *("auth_list", "auth_switch", "logout", "interpreter_login", "notebook_login"),
        *("cached_assets_path", "get_cached_repo_tree", "scan_cache_dir", "try_to_load_from_cache"),
        *("check_cli_update", "typer_factory", "dump_environment_info", "is_offline_mode"),
        *("close_session", "get_session", "get_async_session", "hf_raise_for_status"),
        *("set_client_factory", "set_async_client_factory", "get_token", "hf_hub_url"),
        *("export_entries_as_dduf", "export_folder_as_dduf", "read_dduf_file", "parse_hf_uri"),
        *("get_local_safetensors_metadata", "parse_local_safetensors_file_metadata"),
        *("get_torch_storage_id", "get_torch_storage_size", "load_state_dict_from_file"),
        *("load_torch_model", "save_torch_model", "save_torch_state_dict"),
        *("split_state_dict_into_shards_factory", "split_torch_state_dict_into_shards"),
        *("eval_result_entries_to_yaml", "parse_eval_result_entries", "metadata_eval_result"),
        *("metadata_load", "metadata_save", "WebhooksServer"),
        # Of older clients.
        *("configure_http_backend", "repo_type_and_id_from_hf_id", "from_pretrained_keras"),
        *("push_to_hub_keras", "save_pretrained_keras", "get_tf_storage_size"),
        "split_tf_state_dict_into_shards",
    }
)
