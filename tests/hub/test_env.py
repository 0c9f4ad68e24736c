"""The reader of environment variables: typed, loud, never silent about a wrong value."""

from pathlib import Path

import pytest

from hub.settings import env


@pytest.fixture(autouse=True)
def problems(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(env, "problems", {})
    return env.problems


def test_what_is_not_set_has_its_default(problems: dict[str, str]) -> None:
    assert env.text("X_TEXT", "a") == "a"
    assert env.integer("X_INTEGER", 3, low=1, high=5) == 3
    assert env.boolean("X_BOOLEAN", default=True) is True
    assert env.words("X_WORDS", "a, b") == ["a", "b"]
    assert env.folder("X_FOLDER", Path("relative")).is_absolute()
    assert problems == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("Yes", True), ("ON", True), ("false", False), ("0", False)],
)
def test_truth_has_several_spellings(
    monkeypatch: pytest.MonkeyPatch, value: str, *, expected: bool
) -> None:
    monkeypatch.setenv("X", value)
    assert env.boolean("X", default=not expected) is expected


@pytest.mark.parametrize("value", ["maybe", "2", "tru"])
def test_half_truths_are_problems(
    monkeypatch: pytest.MonkeyPatch, problems: dict[str, str], value: str
) -> None:
    monkeypatch.setenv("X", value)
    assert env.boolean("X", default=False) is False
    assert value in problems["X"]


@pytest.mark.parametrize("value", ["ten", "1.5", "0", "6", "-1"])
def test_numbers_outside_their_bounds_are_problems(
    monkeypatch: pytest.MonkeyPatch, problems: dict[str, str], value: str
) -> None:
    monkeypatch.setenv("X", value)
    assert env.integer("X", 3, low=1, high=5) == 3
    assert value in problems["X"]


def test_a_secret_may_come_from_a_file(
    monkeypatch: pytest.MonkeyPatch, problems: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("from the file\n")
    monkeypatch.setenv("X", "from the environment")
    monkeypatch.setenv("X_FILE", str(tmp_path / "secret"))
    assert env.text("X", "") == "from the file"
    monkeypatch.setenv("X_FILE", str(tmp_path / "missing"))
    assert env.text("X", "default") == "default"
    assert "cannot be read" in problems["X_FILE"]
