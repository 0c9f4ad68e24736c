"""Charts in a browser: drawn, walked by keyboard, exported, live, and a table without scripts."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_progress
from registry.services.work.job import job_submit
from registry.states import JobKind
from registry.tables import Build, User
from tests.hub.pages.conftest import Tuned
from tests.programs import needs
from tests.registry import shopfloor

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    needs("chromium"),
    needs("bundle"),
]


def drawn(page: Page, name: str) -> None:
    """Wait until the chart of that name is drawn."""
    page.locator(f'[data-chart="{name}"][data-drawn] [data-plot] svg').wait_for()


def test_a_chart_is_walked_by_keyboard(page: Page, tuned: Tuned) -> None:
    page.goto(f"/jobs/{tuned.job.uuid}")
    drawn(page, "course")
    plot = page.locator("#course-plot")
    plot.focus()
    status = page.locator('[data-chart="course"] [data-mark]')
    page.keyboard.press("ArrowRight")
    expect(status).to_have_text(re.compile("^Trial 0: onnxruntime"))
    page.keyboard.press("ArrowRight")
    expect(status).to_have_text(re.compile("^Trial 1: onnxruntime.*0.800 of the default"))
    expect(page.locator(".chart-tip")).to_contain_text("threads=half")
    page.keyboard.press("End")
    expect(status).to_have_text(re.compile("it fell over"))
    expect(page.locator(".chart-tip strong")).to_have_text("Trial 2: onnxruntime")
    page.keyboard.press("Escape")
    expect(page.locator(".chart-tip")).to_be_hidden()


def test_a_mark_is_chosen_by_keyboard(page: Page, tuned: Tuned) -> None:
    # A page that shows marks with ids; the model's page is one.
    build = Build.objects.get(is_baseline=False)
    page.goto(f"/jobs/{tuned.job.uuid}")
    drawn(page, "course")
    page.evaluate(
        """id => {
          const script = document.querySelector("#course-option");
          const option = JSON.parse(script.textContent);
          const series = option.series.find((one) => one.type === "scatter");
          series.data.forEach((mark, at) => { mark.id = at ? id : "other"; });
          script.textContent = JSON.stringify(option);
          document.documentElement.dataset.theme = "dark";
          window.chosen = [];
          document.addEventListener("chart:select", (event) => window.chosen.push(event.detail.id));
        }""",
        str(build.uuid),
    )
    page.locator("#course-plot").focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("window.chosen.length")
    assert page.evaluate("window.chosen") == [str(build.uuid)]


def test_colours_follow_the_theme(page: Page, tuned: Tuned) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"/records/{tuned.record.pk}")
    drawn(page, "histogram")
    background = page.locator('[data-chart="histogram"] [data-plot] svg > rect').first
    light = background.get_attribute("fill")
    assert light
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(background).not_to_have_attribute("fill", light)


def test_a_chart_is_exported_as_svg(page: Page, tuned: Tuned, tmp_path: Path) -> None:
    page.goto(f"/records/{tuned.record.pk}")
    drawn(page, "histogram")
    with page.expect_download() as waiting:
        page.get_by_role("button", name=re.compile("Download the chart .* as SVG")).click()
    waiting.value.save_as(tmp_path / "chart.svg")
    svg = (tmp_path / "chart.svg").read_text()
    assert waiting.value.suggested_filename == "histogram.svg"
    assert svg.startswith("<svg")
    assert "<title>Latencies of all samples</title>" in svg
    assert f"/records/{tuned.record.pk}" in svg
    assert "median of default" in svg


def test_a_live_chart_keeps_focus_and_an_open_table(page: Page, tuned: Tuned) -> None:
    revision, target = tuned.job.revision, tuned.job.target
    job = job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    floor = shopfloor.Floor(User.objects.get(), revision, None, target, tuned.job.device)  # type: ignore[arg-type]
    ticket = floor.claim()
    handle = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    trial_add(**handle, trial=shopfloor.trial(0, "all", ratio_low=0.79, ratio_high=0.81))
    page.goto(f"/jobs/{job.uuid}")
    drawn(page, "course")
    page.get_by_text("As a table").click()
    page.locator("#course-plot").focus()
    shapes = page.locator('[data-chart="course"] [data-plot] svg path')
    before = shapes.count()
    times = {"used_s": 41.0, "budget_s": 120.0}
    words = {"phase": "search", "done": 1, "total": None, "message": "onnxruntime threads=half"}
    job_progress(**handle, **words, **times)
    trial_add(**handle, trial=shopfloor.trial(1, "half", ratio_low=0.79, ratio_high=0.81))
    page.get_by_role("cell", name="threads=half").wait_for()
    page.get_by_text("onnxruntime with threads half").wait_for()
    expect(shapes.nth(before)).to_be_attached()
    expect(page.locator("#course-plot")).to_be_focused()
    expect(page.locator("#job-announcement")).to_contain_text("Best so far: 1.25 times as fast")


def test_without_scripts_the_table_is_there(plain_page: Page, tuned: Tuned) -> None:
    plain_page.goto(f"/jobs/{tuned.job.uuid}")
    expect(plain_page.get_by_role("cell", name="it fell over")).to_be_visible()
    expect(plain_page.locator("#course-plot")).to_be_hidden()


def test_charts_fit_on_a_phone(page: Page, tuned: Tuned) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    build = Build.objects.get(is_baseline=False)
    for address, name in (
        (f"/jobs/{tuned.job.uuid}", "course"),
        (f"/records/{tuned.record.pk}", "histogram"),
        (f"/builds/{build.uuid}", "bars"),
    ):
        page.goto(address)
        drawn(page, name)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
