"""Limits on outputs: what is asked, what a looser one would bring, and how that is said."""

import dataclasses
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hpcfair import cli, hints
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import BadInput, Offline
from hpcfair.explain import deviation_text, latency_text
from hpcfair.resolution import StaleAnswerWarning

INT8 = {
    "tolerance": "int8",
    "gain": 2.1,
    "latency_ns": 8_300,
    "deviation": {"max_absolute": 0.9, "max_relative": 0.03, "relative_l2": 0.014},
    "accuracy": 0.986,
    "accuracy_reference": 0.986,
}
FP16 = {**INT8, "tolerance": "fp16", "gain": 1.9, "deviation": {}, "accuracy": None}
LINE = (
    "lab/tiny: int8 would be 2.1 times as fast as the runtime's defaults (this build: 1.64), "
    "answers differ by 1.4 %, accuracy 98.6 of 98.6 %; tolerance='int8'"
)


@pytest.fixture
def looser(resolution: dict[str, Any]) -> dict[str, Any]:
    """An answer that names two faster builds."""
    resolution["looser"] = [FP16, INT8]
    return resolution


@pytest.fixture
def lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Callable[[], list[str]]:
    """The hints so far, as somebody sees them who silenced nothing."""
    monkeypatch.delenv("HPCFAIR_QUIET")
    caplog.set_level(logging.WARNING, "hpcfair.hints")
    monkeypatch.setattr(hints, "_models_with_hint", set())
    return lambda: [r.getMessage() for r in caplog.records if r.name == "hpcfair.hints"]


@pytest.mark.parametrize(
    ("limits", "body"),
    [
        ({}, {"tolerance": "exact"}),
        ({"tolerance": "int8"}, {"tolerance": "int8"}),
        ({"tolerance": 0.01}, {"tolerance": 0.01}),
        ({"tolerance": np.float32(0.5)}, {"tolerance": 0.5}),
        ({"min_accuracy": 0.97}, {"tolerance": "int8", "min_accuracy": 0.97}),
        ({"tolerance": "fp16", "min_accuracy": 1}, {"tolerance": "fp16", "min_accuracy": 1.0}),
    ],
)
def test_limits_are_sent_to_the_hub(
    hub: Any,
    client: Client,
    resolution: dict[str, Any],
    sent: Callable[..., Any],
    limits: dict[str, Any],
    body: dict[str, Any],
) -> None:
    client.load("lab/tiny", **limits)

    asked = sent(hub.requests[0])
    assert {key: asked[key] for key in asked if key in ("tolerance", "min_accuracy")} == body


@pytest.mark.parametrize(
    "limits",
    [
        {"tolerance": "fp3"},
        {"tolerance": 2},
        {"tolerance": -0.1},
        {"tolerance": float("nan")},
        {"tolerance": True},
        {"tolerance": "0.01"},
        {"tolerance": float("inf")},
        {"min_accuracy": 97},
        {"min_accuracy": "0.97"},
        {"min_accuracy": False},
        {"min_accuracy": float("nan")},
    ],
)
def test_limits_that_mean_nothing_are_refused_before_anything_is_sent(
    hub: Any, client: Client, limits: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match=r"exact|0\.97"):
        client.load("lab/tiny", **limits)
    assert hub.requests == []


def test_one_line_says_once_what_a_looser_tolerance_would_bring(
    client: Client, looser: dict[str, Any], lines: Callable[[], list[str]]
) -> None:
    client.load("lab/tiny")
    client.load("lab/tiny")

    assert lines() == [LINE]


def test_beside_the_defaults_the_line_is_short(
    client: Client, looser: dict[str, Any], lines: Callable[[], list[str]]
) -> None:
    looser["build"] |= {"is_baseline": True, "ratio": 1.003}
    looser["looser"] = [FP16]

    client.load("lab/tiny")

    assert lines() == ["lab/tiny: fp16 would be 1.9 times as fast; tolerance='fp16'"]


@pytest.mark.parametrize(
    "limits", [{"tolerance": "exact"}, {"tolerance": 0.5}, {"min_accuracy": 0.1}, {"target": None}]
)
def test_whoever_states_a_limit_is_told_nothing(
    client: Client,
    looser: dict[str, Any],
    lines: Callable[[], list[str]],
    limits: dict[str, Any],
) -> None:
    client.load("lab/tiny", **limits)

    assert lines() == []


def test_a_small_gain_is_not_worth_a_line(
    client: Client, looser: dict[str, Any], lines: Callable[[], list[str]]
) -> None:
    looser["looser"] = [{**INT8, "gain": 1.7}]

    text = client.load("lab/tiny").explain()

    assert lines() == []
    assert "int8: 1.7 times as fast" in text


def test_the_line_can_be_silenced(
    client: Client,
    looser: dict[str, Any],
    lines: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HPCFAIR_QUIET", "1")
    client.load("lab/tiny")
    monkeypatch.delenv("HPCFAIR_QUIET")
    logger = logging.getLogger("hpcfair.hints")
    monkeypatch.setattr(logger, "level", logging.ERROR)
    logger.manager._clear_cache()  # type: ignore[attr-defined]  # what setLevel does
    client.load("lab/tiny")

    assert lines() == []


def test_explain_lists_what_each_class_would_bring(client: Client, looser: dict[str, Any]) -> None:
    text = client.load("lab/tiny").explain()

    assert "A looser limit would bring:" in text
    assert (
        "  int8: 2.1 times as fast as the runtime's defaults, 8.3 µs median, answers differ by "
        "1.4 %, accuracy 98.6 of 98.6 %; tolerance='int8'\n"
    ) in text
    assert "  fp16: 1.9 times as fast as the runtime's defaults, 8.3 µs median; tolerance=" in text


def test_explain_states_the_limits(client: Client, resolution: dict[str, Any]) -> None:
    text = client.load("lab/tiny", tolerance=0.01, min_accuracy=0.97).explain()

    assert "relative error up to 0.01, accuracy at least 97.00%" in text


def test_explain_says_in_short_what_the_limit_brought_and_what_a_laxer_one_would(
    client: Client, looser: dict[str, Any]
) -> None:
    looser["build"] |= {"tolerance": "int8", "backend": "openvino", "ratio": 0.476}
    looser["build"] |= {"relative_error": 0.008, "accuracy": 0.971}
    looser["looser"] = [
        {**INT8, "backend": "tvm", "relative_error": 0.0131, "limits": {"tolerance": 0.014}}
    ]

    text = client.load("lab/tiny", tolerance=0.01, min_accuracy=0.97).explain()

    assert (
        "  in short   int8 by openvino, 2.1 times as fast as the runtime's defaults, answers "
        "differ by 0.8 % (limit 1 %), accuracy 97.1 % (at least 97 %)\n"
    ) in text
    assert "  int8 by tvm: 2.1 times as fast" in text
    assert "answers differ by 1.3 %, accuracy 98.6 of 98.6 %; tolerance=0.014\n" in text


def test_in_short_the_defaults_are_called_that(client: Client, resolution: dict[str, Any]) -> None:
    resolution["build"] |= {"is_baseline": True, "accuracy": None}
    text = client.load("lab/tiny").explain()
    assert "  in short   the defaults of onnxruntime, answers differ by 3.1e-08\n" in text


def test_a_number_that_was_answered_before_works_without_the_hub(
    hub: Any, client: Client, resolution: dict[str, Any], config: Config
) -> None:
    client.load("lab/tiny", tolerance=0.01)
    hub.requests.clear()
    offline = Client(config=dataclasses.replace(config, offline=True), transport=hub)

    with pytest.warns(StaleAnswerWarning):
        model = offline.load("lab/tiny", tolerance=0.01)

    assert model.build is not None
    assert model.resolution.acceptance.tolerance == 0.01
    with pytest.raises(Offline):
        offline.load("lab/tiny", tolerance=0.02)
    assert hub.requests == []


def test_a_run_says_what_ran(client: Client, resolution: dict[str, Any], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    words = ["run", "lab/tiny", str(tmp_path / "x.npy"), "--tolerance", "0.01"]

    result = CliRunner().invoke(cli.app, words, obj=client)

    assert (
        "lab/tiny: exact by onnxruntime, 1.64 times as fast as the runtime's defaults, answers "
        "differ by 3.1e-08 (limit 1 %), accuracy 97.0 %. One run"
    ) in result.stderr


def test_builds_are_listed_within_limits(hub: Any, client: Client, build: dict[str, Any]) -> None:
    hub.on("GET", "/api/v1/models/lab/tiny/builds", {"items": [{**build, "limit": 0.008}]})

    (listed,) = client.builds("lab/tiny", tolerance=0.01)
    client.builds("lab/tiny")

    assert listed.limit == 0.008
    assert [dict(request.url.params) for request in hub.requests] == [{"tolerance": "0.01"}, {}]


def test_an_older_hub_says_nothing_of_looser_classes(
    client: Client, resolution: dict[str, Any], lines: Callable[[], list[str]]
) -> None:
    assert "looser" not in client.load("lab/tiny").explain()
    assert lines() == []


def test_a_command_takes_limits(
    hub: Any, client: Client, resolution: dict[str, Any], sent: Callable[..., Any]
) -> None:
    words = ["load", "lab/tiny", "--tolerance", "0.01", "--min-accuracy", "0.97", "--json"]

    result = CliRunner().invoke(cli.app, words, obj=client)

    assert json.loads(result.stdout)["name"] == "lab/tiny"
    asked = sent(hub.requests[0])
    assert (asked["tolerance"], asked["min_accuracy"]) == (0.01, 0.97)


def test_a_command_names_the_limits_there_are(client: Client) -> None:
    result = CliRunner().invoke(cli.app, ["load", "lab/tiny", "--tolerance", "fp3"], obj=client)

    assert result.exit_code == 2
    assert "There is no tolerance 'fp3'. Choose of ('exact'" in result.stderr


@pytest.mark.parametrize(
    ("deviation", "text"),
    [
        (INT8["deviation"], "relative L2 1.4 %, largest difference 3 % of max |ref| (max |y - "),
        (
            {"relative_l2": 0.0084, "random_relative_l2": 0.013},
            "relative L2 0.84 % (1.3 % on random inputs)",
        ),
        ({"max_absolute": 14.0, "max_relative": 2e-7}, "largest difference 2e-07 of max |ref| "),
        ({"max_absolute": 14.0}, ""),
        ({}, ""),
    ],
)
def test_an_absolute_figure_comes_with_its_scale_or_not_at_all(
    deviation: dict[str, float | None], text: str
) -> None:
    shown = deviation_text(deviation)

    assert shown.startswith(text)
    assert bool(shown) == bool(text)


@pytest.mark.parametrize(
    ("ns", "text"), [(8_300, "8.3 µs"), (99_999, "100 µs"), (840_000, "0.84 ms"), (2e9, "2 s")]
)
def test_latencies_have_a_unit_that_suits_them(ns: float, text: str) -> None:
    assert latency_text(ns) == text
