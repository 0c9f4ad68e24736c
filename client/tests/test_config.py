"""Settings: arguments beat the environment, the environment beats what login stored."""

import json
import stat
from pathlib import Path

import pytest

from hpcfair.config import DEFAULT_URL, Config, clean_url, config_file, forget_token, keep_token
from hpcfair.errors import BadConfig

HUB = "https://hub.test"


def test_without_any_setting_the_hub_is_this_machine() -> None:
    config = Config.read()

    assert (config.url, config.token, config.offline) == (DEFAULT_URL, None, False)


@pytest.mark.parametrize(
    ("text", "size"), [("50GB", 50 * 10**9), ("1.5 TiB", 3 * 2**39), ("700", 700), ("", None)]
)
def test_a_budget_is_a_size(text: str, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCFAIR_CACHE_BUDGET", text)

    assert Config.read().cache_budget == size


def test_a_budget_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCFAIR_CACHE_BUDGET", "half of it")

    with pytest.raises(BadConfig, match="HPCFAIR_CACHE_BUDGET"):
        Config.read()


def test_arguments_beat_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCFAIR_URL", HUB)
    monkeypatch.setenv("HPCFAIR_TOKEN", "hpf_environment")

    assert Config.read(token="hpf_argument").token == "hpf_argument"
    assert Config.read().token == "hpf_environment"


def test_the_environments_token_is_not_sent_to_another_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HPCFAIR_URL", HUB)
    monkeypatch.setenv("HPCFAIR_TOKEN", "hpf_environment")

    assert Config.read("https://elsewhere.test").token is None


def test_a_stored_token_comes_back_for_its_hub_alone() -> None:
    keep_token(f"{HUB}/", "hpf_stored")

    assert Config.read().url == HUB
    assert Config.read().token == "hpf_stored"
    assert Config.read("https://elsewhere.test").token is None


def test_a_stored_token_is_readable_by_its_owner_alone() -> None:
    path = keep_token(HUB, "hpf_stored")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_for_hugging_face_goes_to_its_endpoint_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep_token(HUB, "hpf_stored")
    monkeypatch.setenv("HF_ENDPOINT", "https://hf.test")
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    (tmp_path / "token").write_text("hf_file\n")

    assert Config.read().for_server("https://hf.test").token == "hf_file"
    monkeypatch.setenv("HF_TOKEN", "hf_environment")
    config = Config.read()
    assert config.for_server("https://hf.test").token == "hf_environment"
    assert config.for_server(HUB).token == "hpf_stored"
    assert config.for_server("https://elsewhere.test").token is None
    assert "hf_environment" not in repr(config)


def test_forgetting_a_token_leaves_those_of_other_hubs() -> None:
    keep_token("https://other.test", "hpf_other")
    keep_token(HUB, "hpf_stored")

    assert forget_token(HUB)
    assert not forget_token(HUB)
    assert Config.read("https://other.test").token == "hpf_other"


def test_a_token_is_not_shown_by_repr() -> None:
    assert "hpf_" not in repr(Config(HUB, "hpf_secret"))


@pytest.mark.parametrize(("text", "meant"), [("1", True), ("Yes", True), ("", False), ("0", False)])
def test_the_offline_switch_reads_words(
    text: str, meant: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPCFAIR_OFFLINE", text)

    assert Config.read().offline is meant


def test_an_offline_switch_that_says_neither_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCFAIR_OFFLINE", "perhaps")

    with pytest.raises(BadConfig, match="HPCFAIR_OFFLINE"):
        Config.read()


@pytest.mark.parametrize("text", ["{", "[]", '{"tokens": 3}'])
def test_a_damaged_configuration_file_is_named(text: str) -> None:
    path = config_file()
    path.parent.mkdir(parents=True)
    path.write_text(text)

    with pytest.raises(BadConfig, match=str(path)):
        Config.read()


def test_writing_the_configuration_leaves_no_other_file() -> None:
    path = keep_token(HUB, "hpf_stored")

    assert list(path.parent.iterdir()) == [path]
    assert json.loads(path.read_text()) == {"url": HUB, "tokens": {HUB: "hpf_stored"}}


@pytest.mark.parametrize("url", ["hub.test", "ftp://hub.test", "https://", "https://u:p@hub.test"])
def test_what_is_no_address_of_a_hub_is_refused(url: str) -> None:
    with pytest.raises(BadConfig):
        Config(url)


def test_a_refused_address_does_not_show_its_password() -> None:
    with pytest.raises(BadConfig) as refusal:
        clean_url("https://user:opensesame@hub.test")

    assert "opensesame" not in str(refusal.value)


def test_the_cache_moves_with_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCFAIR_CACHE", str(tmp_path / "elsewhere"))

    assert Config.read().cache == tmp_path / "elsewhere"
