"""The reader of environment variables: typed, loud, never silent about a wrong value."""

from pathlib import Path

import pytest

from hub.settings import env

READ = env.SettingsSection("Tests")


@pytest.fixture(autouse=True)
def problems(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(env, "problems", {})
    monkeypatch.setattr(env, "variables", {})
    return env.problems


def test_what_is_not_set_has_its_default(problems: dict[str, str]) -> None:
    assert READ.text("X_TEXT", "a", about="A.") == "a"
    assert READ.integer("X_INTEGER", 3, low=1, high=5, about="A.") == 3
    assert READ.boolean("X_BOOLEAN", default=True, about="A.") is True
    assert READ.words("X_WORDS", "a, b", about="A.", shown="a") == ["a", "b"]
    assert READ.folder("X_FOLDER", Path("relative"), about="A.", shown="x").is_absolute()
    assert problems == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("Yes", True), ("ON", True), ("false", False), ("0", False)],
)
def test_truth_has_several_spellings(
    monkeypatch: pytest.MonkeyPatch, value: str, *, expected: bool
) -> None:
    monkeypatch.setenv("X", value)
    assert READ.boolean("X", default=not expected, about="A.") is expected


@pytest.mark.parametrize("value", ["maybe", "2", "tru"])
def test_half_truths_are_problems(
    monkeypatch: pytest.MonkeyPatch, problems: dict[str, str], value: str
) -> None:
    monkeypatch.setenv("X", value)
    assert READ.boolean("X", default=False, about="A.") is False
    assert value in problems["X"]


@pytest.mark.parametrize("value", ["ten", "1.5", "0", "6", "-1"])
def test_numbers_outside_their_bounds_are_problems(
    monkeypatch: pytest.MonkeyPatch, problems: dict[str, str], value: str
) -> None:
    monkeypatch.setenv("X", value)
    assert READ.integer("X", 3, low=1, high=5, about="A.") == 3
    assert value in problems["X"]


def test_a_secret_may_come_from_a_file(
    monkeypatch: pytest.MonkeyPatch, problems: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("from the file\n")
    monkeypatch.setenv("X", "from the environment")
    monkeypatch.setenv("X_FILE", str(tmp_path / "secret"))
    assert READ.text("X", "", about="A.") == "from the file"
    monkeypatch.setenv("X_FILE", str(tmp_path / "missing"))
    assert READ.text("X", "default", about="A.") == "default"
    assert "cannot be read" in problems["X_FILE"]


def test_each_read_is_registered_for_the_documentation() -> None:
    READ.integer("X", 3, low=1, high=5, about="Number of things.")
    assert env.variables == {
        "X": env.Variable("X", "whole number, 1 to 5", "3", "Number of things.", "Tests")
    }
