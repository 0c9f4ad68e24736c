"""The page of compiler passes: lists, single passes, and published figures beside ours."""

import pytest
from django.test import Client

from hub.pages.chart.passes import change_text, effects_chart
from registry.selectors.analysis.passes import MeanRatio, PassEffect
from tests.hub.pages.chart.checks import checked, marks
from tests.registry import shopfloor
from tests.registry.analysis.pass_studies import study, trial

pytestmark = pytest.mark.django_db


def test_a_class_is_shown_with_its_evidence(client: Client) -> None:
    study(
        "alice/one", "1" * 64,
        trial("final", "A,B", compile=0.6, latency=1.0),
        trial("ablation", "A", about="FuseOps", compile=0.5, latency=1.4),
    )  # fmt: skip
    text = client.get(f"/passes?target={shopfloor.SLUG}&backend=tvm").content.decode()
    assert "−40 % [−41, −39]" in text
    assert "compiles faster without loss" in text
    assert "Weak evidence (n = 1)" in text
    assert "<td>needed</td>" in text
    assert "A, B" in text


def test_published_figures_are_said_to_be_of_others(client: Client) -> None:
    text = client.get("/passes").content.decode()
    assert "compile time −92 %" in text
    assert "throughput +24 % (from TensorFlow), +32 % (from PyTorch)" in text
    assert "NVIDIA A100 and RTX 2080" in text
    assert "not studied here" in text
    assert "No study of passes yet" in text


def test_unknown_filters_are_refused(client: Client) -> None:
    assert client.get("/passes?target=nowhere").status_code == 404
    assert client.get("/passes?class=nothing").status_code == 400


def test_targets_and_studies_lead_here(client: Client) -> None:
    floor = study("alice/one", "1" * 64)
    job = floor.revision.jobs.get(kind="passes")
    for address in (f"/targets/{shopfloor.SLUG}", f"/jobs/{job.uuid}"):
        assert f"/passes?target={shopfloor.SLUG}" in client.get(address).content.decode()


def test_the_chart_has_a_mark_for_each_measured_side() -> None:
    mean = MeanRatio(0.5, 0.4, 0.6, 0.5, 0.5, 1)
    effects = [PassEffect("A", mean, None, 1, 0), PassEffect("B", None, None, 1, 1)]
    made = checked(effects_chart(effects, name="effects", title="T"))
    assert [mark["tip"][:2] for mark in marks(made)] == [
        ["without A", "compile time −50 % [−60, −40]"]
    ]
    assert [row[0] for row in made.rows] == ["A", "B"]
    assert effects_chart([], name="effects", title="T") is None


@pytest.mark.parametrize(
    ("mean", "text"),
    [
        (None, "not measured"),
        (MeanRatio(1.0, 1.0, 1.0, 1, 1, 1), "0 %"),
        (MeanRatio(1.05, 1.0, 1.1, 1, 1, 1), "+5.0 % [0, +10]"),
        (MeanRatio(0.08, 0.07, 0.09, 1, 1, 1), "−92 % [−93, −91]"),
    ],
)
def test_changes_are_signed(mean: MeanRatio | None, text: str) -> None:
    assert change_text(mean) == text
