"""The page of a model opens with its speed on one target."""

import re

import pytest
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.people.usertarget import usertarget_note
from registry.services.work.attempt import job_fail
from registry.services.work.plan import plan_repetition
from registry.states import FailureClass, JobKind
from registry.tables import Build, Job, MLModel, Target, User
from tests.factories import commit_files
from tests.hub.pages.conftest import fail_inspection
from tests.hub.pages.test_reading import text
from tests.hub.pages.tuning import floor_of, publish
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

PATH = "/alice/digits"


def checked(page: str) -> list[str]:
    return re.findall(r'name="tolerance"[^>]*value="(\w+)" checked', page)


@pytest.mark.usefixtures("tuned_digits")
def test_the_answer_is_in_words_with_what_it_was_measured_on(client: Client) -> None:
    page = text(client, PATH)
    assert "2.1 times as fast on x86-64-avx512" in page
    assert "8.30 µs" in page
    assert "Answers differ by 1.4 %, accuracy 98.6 of 98.6 %" in page
    assert "data_0 float32[1,3,224,224], batch 1" in page
    assert "Same answers to within 0.01 %" in page
    assert "Measured, but no faster than these: fp16" in page


def test_latencies_side_by_side_are_of_one_run(client: Client, digits: MLModel) -> None:
    """The default's own run was on a slower machine than that of the build."""
    build = {"ratio": 0.5, "p50_ns": 2_000, "tolerance": "int8"}
    publish(floor_of(digits), half=build | {"deviation": {"relative_l2": 0.014}})
    page = text(client, PATH)
    assert "Default 4.00 µs in the same run" in page
    assert "In the same run as the int8 build" in page
    # The time of the run of its own is in the chart's table, beside its record only.
    offers = page[page.index('class="offers"') : page.index("</fieldset>")]
    assert "17.3 µs" not in offers
    assert "default 4.00 µs" in text(client, f"{PATH}/builds")


@pytest.mark.usefixtures("tuned_digits")
def test_each_tolerance_has_its_snippet_with_the_extra_of_its_runtime(client: Client) -> None:
    page = text(client, PATH)
    assert checked(page) == ["exact"]
    int8 = page[page.index('data-snippet="hpcfair-int8"') :]
    int8 = int8[: int8.index("data-snippet", 20)]
    assert "hpcfair[openvino,verify]" in int8
    assert "tolerance=&quot;int8&quot;" in int8
    exact = page[page.index('data-snippet="hpcfair-exact"') :]
    assert "hpcfair[run]" in exact[: exact.index("data-snippet", 20)]


@pytest.mark.usefixtures("tuned_digits")
def test_each_point_of_the_front_has_the_number_that_loads_it(client: Client) -> None:
    page = text(client, PATH)
    assert "Load by the error or accuracy that you accept" in page
    # Whatever is exact needs no number.
    assert re.findall(r'data-snippet="price-([^"]+)"', page) == ["0.014"]
    price = page[page.index('data-snippet="price-0.014"') :]
    price = price[: price.index("</details>")]
    assert "2.1 times as fast: onnxruntime, int8; answers differ by 1.4 %" in price
    assert "hpcfair[openvino,verify]" in price
    assert "hpcfair.load(&quot;alice/digits&quot;, tolerance=0.014)" in price
    accuracy = page[page.index('data-snippet="accuracy-0.986"') :]
    accuracy = accuracy[: accuracy.index("</details>")]
    assert "hpcfair.load(&quot;alice/digits&quot;, min_accuracy=0.986)" in accuracy
    # The table beside the chart has all numbers.
    assert "<td>tolerance=0.014</td>" in page
    assert "<td>tolerance=1e-07</td>" in page


def test_builds_that_nobody_would_load_have_no_number(client: Client, digits: MLModel) -> None:
    worse = {"ratio": 0.6, "tolerance": "int8", "deviation": {"relative_l2": 0.1}}
    better = {"ratio": 0.5, "tolerance": "bf16", "deviation": {"relative_l2": 0.01}}
    publish(floor_of(digits), half=worse, one=better)
    page = text(client, PATH)
    assert re.findall(r'data-snippet="price-([^"]+)"', page) == ["0.01"]
    assert "tolerance=0.1<" not in page


@pytest.mark.usefixtures("tuned_digits")
@pytest.mark.parametrize(
    ("wish", "chosen"), [("int8", "int8"), ("bf16", "exact"), ("exact", "exact"), ("no", "exact")]
)
def test_the_address_chooses_what_is_shown_first(client: Client, wish: str, chosen: str) -> None:
    assert checked(text(client, f"{PATH}?tolerance={wish}")) == [chosen]


def test_every_build_is_a_mark_and_described(client: Client, tuned_digits: list[Build]) -> None:
    page = text(client, PATH)
    for build in tuned_digits:
        assert f'data-build="{build.uuid}"' in page
        assert f"/builds/{build.uuid}" in page
    assert 'data-chart="pareto"' in page


def test_a_disturbed_measurement_is_not_called_the_default(client: Client, digits: MLModel) -> None:
    publish(floor_of(digits), half={"ratio": 0.9, "verdict": "unstable"})
    Job.objects.filter(kind=JobKind.TUNE).update(result={"inconclusive": [{"tolerance": "exact"}]})
    page = text(client, PATH)
    assert "measurements decided nothing so far" in page
    assert "Inconclusive: exact" in page
    assert "default is the fastest" not in page


def test_a_gain_that_is_still_being_confirmed_is_shown_as_probable(
    client: Client, digits: MLModel
) -> None:
    publish(floor_of(digits), half={"ratio": 0.9, "verdict": "unstable"})
    search = Job.objects.get(kind=JobKind.TUNE)
    candidates = [{"tolerance": "exact", "ratio": 0.8}, {"tolerance": "int8", "ratio": 0.99}]
    Job.objects.filter(pk=search.pk).update(result={"inconclusive": candidates})
    name = f"/api/v1/models/{digits.full_name}"
    # Nothing measures on.
    assert client.get(name).json()["probable_gains"] == {}
    assert plan_repetition(job_uuid=str(search.uuid)) is not None
    page = text(client, PATH)
    assert "Probably 1.25 times as fast on" in page
    assert "exact: probably 1.25 times as fast, being confirmed" in page
    assert "Inconclusive: int8" in page
    assert client.get(name).json()["probable_gains"] == {search.target.slug: {"exact": 1.25}}


def test_a_model_without_builds_is_offered_as_it_was_published(
    client: Client, digits: MLModel
) -> None:
    shopfloor.make_graph(revision_get(digits))
    page = text(client, PATH)
    assert "Not measured yet" in page
    assert "np.zeros((1, 3), np.float32)" in page
    assert "data-chart" not in page


def test_a_model_that_cannot_be_run_says_why_and_is_not_offered(
    client: Client, galaxy: MLModel
) -> None:
    fail_inspection(galaxy)
    page = text(client, "/lab/galaxy-cnn")
    assert "This model cannot be run" in page
    assert "onnx_truncated" in page
    assert "hpcfair.load" not in page
    assert "snapshot_download(" in page


def test_a_failed_search_shows_on_the_page(client: Client, digits: MLModel) -> None:
    floor = floor_of(digits)
    floor.tune()
    held = floor.claim()
    job_fail(
        job_uuid=held.job_uuid,
        fence=held.fence,
        failure_class=FailureClass.INVALID,
        code="tensors_too_large",
        detail="One run takes more than 256 MiB.",
    )
    page = text(client, PATH)
    assert "One run takes more than 256 MiB." in page
    assert f"/jobs/{held.job_uuid}" in page


@pytest.mark.usefixtures("tuned_digits")
class TestTarget:
    """Which target is shown first."""

    @pytest.fixture(autouse=True)
    def builds(self, digits: MLModel) -> None:
        publish(floor_of(digits, "arm64-generic", rank=0))

    def shown(self, client: Client, query: str = "") -> str:
        page = client.get(f"{PATH}{query}")
        return str(page.context["panel"].comparison.target.slug)

    def test_the_target_of_most_builds_is_first(self, client: Client) -> None:
        assert self.shown(client) == "x86-64-avx512"
        assert "target" not in client.cookies

    def test_real_machines_come_before_emulated_ones(self, client: Client) -> None:
        Target.objects.filter(slug="x86-64-avx512").update(is_emulated=True)
        assert self.shown(client) == "arm64-generic"
        sentence = "Its speed says nothing about real ones"
        assert sentence not in text(client, PATH)
        assert sentence in text(client, f"{PATH}?target=x86-64-avx512")

    def test_a_choice_lasts_in_this_session_of_the_browser(self, client: Client) -> None:
        assert self.shown(client, "?target=arm64-generic") == "arm64-generic"
        assert self.shown(client) == "arm64-generic"
        cookie = client.cookies["target"]
        assert (cookie["httponly"], cookie["samesite"], cookie["expires"]) == (True, "Lax", "")

    def test_a_target_without_builds_is_no_choice(self, client: Client) -> None:
        assert self.shown(client, "?target=nvidia-sm90") == "x86-64-avx512"
        assert "target" not in client.cookies

    def test_the_readers_own_machine_comes_before_the_most_builds(
        self, client: Client, alice: User
    ) -> None:
        Target.objects.filter(slug="arm64-generic").update(architecture="arm64", features=[])
        usertarget_note(actor=alice, architecture="arm64", features=["neon"])
        client.force_login(alice)
        assert self.shown(client) == "arm64-generic"
        assert "your machine" in text(client, PATH)
        assert self.shown(client, "?target=x86-64-avx512") == "x86-64-avx512"


@pytest.mark.usefixtures("tuned_digits")
def test_without_a_card_the_page_states_facts_and_what_is_missing(
    client: Client, digits: MLModel, alice: User
) -> None:
    page = text(client, PATH)
    assert "The authors wrote no card" in page
    assert "alice/digits is a convolutional network with 10 parameters" in page
    assert "Takes x float32[N,3]." in page
    assert "On x86-64-avx512, int8: 2.1 times as fast, 8.30 µs" in page
    assert "The authors have not said what it is for" in page
    commit_files(digits, {"README.md": "# Digits\n\nWritten by hand.\n"}, actor=alice)
    page = text(client, PATH)
    assert "Written by hand." in page
    assert "The authors wrote no card" not in page


def test_a_search_that_waits_is_one_line(client: Client, digits: MLModel) -> None:
    floor_of(digits).tune()
    page = text(client, PATH)
    assert 'id="job-summary"' in page
