"""The performance page of a model: verdict, groups, inspector, exports; what is missing is said."""

import csv
import gzip
import io
import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate, Visibility
from registry.storage import blob_store
from registry.tables import Build, CallSite, KernelCode, Profile, User
from tests.factories import PASSWORD, make_user
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.shopfloor import Floor, call_site

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor("alice/stars")


@pytest.fixture
def builds(floor: Floor) -> list[Build]:
    """The default; the planted profile, which is the fastest; another one."""
    other = shopfloor.profile(
        call_sites=[call_site("conv", 700, (0, "exact"), precision="float32")],
        kernels=[], total_ns=1000,
    )  # fmt: skip
    return profiles.publish(floor, other, profiles.planted())


def text_of(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    text = re.sub(r"<script.*?</script>|<[^>]+>", " ", answer.content.decode(), flags=re.DOTALL)
    return " ".join(unescape(text).split())


def test_the_verdict_says_what_costs_most_without_a_click(
    client: Client, builds: list[Build]
) -> None:
    page = text_of(client, "/alice/stars/perf")
    # The hottest group with share and spread, then the others in order.
    assert re.search(r"1?\.? ?Conv call 1 50\.0 % ± 2\.5 % tuned", page)
    assert page.index("call 3 15.0 %") < page.index("call 2 10.0 %")
    # Parts of the run, and how far the sum is from it.
    assert "linked to nodes 85.0 %" in page
    assert "not linked 5.0 %" in page
    assert "between the calls 10.0 %" in page
    assert "The calls take" not in page
    # Precision mix, tuned share, links, folded nodes.
    assert "float32 83.3 %" in page
    assert "bfloat16 11.1 %" in page
    assert "55.6 % of the time in tuned kernels, 5 calls" in page
    assert "3 exact, 1 inferred, 1 shared" in page
    assert "1 computed at build time" in page
    assert "n = 20, without profiler" in page


def test_the_inspector_of_the_hottest_group_stands_beside_it(
    client: Client, builds: list[Build]
) -> None:
    page = text_of(client, "/alice/stars/perf")
    assert "no No vector instructions 3 vector and 1 scalar arithmetic" in page
    assert "unknown Far from the roof of the device" in page
    chosen = text_of(client, "/alice/stars/perf?group=2")
    assert "yes Not tuned It runs with the compiler's default" in chosen
    assert "also runs call 3" in chosen


@pytest.mark.parametrize(
    ("tab", "expected"),
    [
        ("why", "Runs in another precision than the model's"),
        ("loops", "level 2 of 2: 16"),
        ("code", "T.Buffer"),
        ("asm", "2 × 512 bits"),
        ("schedule", "[3, 16]"),
        ("peers", "The same nodes under other builds"),
        ("nonsense", "Runs in another precision than the model's"),
    ],
)
def test_each_tab_is_a_page_of_its_own(
    client: Client, builds: list[Build], tab: str, expected: str
) -> None:
    address = f"/alice/stars/perf/groups/1?build={builds[1].uuid}&tab={tab}"
    assert expected in text_of(client, address)
    answer = client.get(address, headers={"HX-Request": "true"})
    content = answer.content.decode()
    assert content.lstrip().startswith("<section")
    assert "<html" not in content


def test_loops_name_the_decisions_that_made_them(client: Client, builds: list[Build]) -> None:
    page = client.get(f"/alice/stars/perf/groups/1?build={builds[1].uuid}&tab=loops")
    content = page.content.decode()
    row = re.search(r'<tr data-loop="4".*?</tr>', content, re.DOTALL)
    assert row is not None
    assert "vectorised" in row[0]
    assert "tile of j" in row[0]
    # Lines of the text know their loops, so that both are marked together.
    assert re.search(r'class="code-line" data-line="12" data-loops="4"', content)
    assert re.search(r'class="code-line" data-line="8" data-loops="1 2"', content)


def test_machine_loops_name_the_loop_and_the_decisions_behind_them(
    client: Client, builds: list[Build]
) -> None:
    page = client.get(f"/alice/stars/perf/groups/1?build={builds[1].uuid}&tab=asm")
    content = page.content.decode()
    rows = re.findall(r'<tr data-loop="\d".*?</tr>', content, re.DOTALL)
    texts = [re.sub(r"<[^>]+>", " ", row) for row in rows]
    assert [".LBB0_1" in texts[0], ".LBB0_2" in texts[1], ".LBB0_3" in texts[2]] == [True] * 3
    assert re.search(r"\bi_1\b.*tile of i", texts[0])
    assert re.search(r"\bk\b", texts[1])
    assert "not certain" in texts[2]
    # Lines of the loop nest are marked together with the instructions that they became.
    assert re.search(r'class="code-line" data-line="9" data-loops="1"', content)
    assert re.search(r'class="code-line" data-line="8" data-loops="0"', content)


def test_peers_say_who_wins_and_in_which_precision(client: Client, builds: list[Build]) -> None:
    page = text_of(client, f"/alice/stars/perf/groups/1?build={builds[1].uuid}&tab=peers")
    assert "onnxruntime exact is the fastest: 500 ns against 700 ns" in page
    assert "1.4 times as fast" in page
    assert "All compute in float32" in page
    other = shopfloor.floor("bob/resnet")
    profiles.publish(other, profiles.planted())
    page = text_of(client, f"/alice/stars/perf/groups/1?build={builds[1].uuid}&tab=peers")
    assert "bob/resnet" in page
    other.revision.mlmodel.visibility = Visibility.PRIVATE
    other.revision.mlmodel.save()
    page = text_of(client, f"/alice/stars/perf/groups/1?build={builds[1].uuid}&tab=peers")
    assert "bob/resnet" not in page


def test_the_table_is_sorted_by_the_server(client: Client, builds: list[Build]) -> None:
    def order(query: str) -> list[int]:
        content = client.get(f"/alice/stars/perf?{query}").content.decode()
        return [int(number) for number in re.findall(r'<tr id="row-(\d+)"', content)]

    assert order("") == [1, 3, 2, 4, 0]
    assert order("sort=share") == [0, 4, 2, 3, 1]
    assert order("sort=order") == [0, 1, 2, 3, 4]
    assert order("sort=name") == [1, 2, 3, 4, 0]
    assert order("sort=-name") == [0, 4, 3, 2, 1]
    assert order("sort=nonsense&page=x") == [1, 3, 2, 4, 0]


def test_target_and_build_are_chosen_by_the_address(client: Client, builds: list[Build]) -> None:
    page = text_of(client, f"/alice/stars/perf?build={builds[0].uuid}")
    assert "the runtime in its defaults" in page
    assert "70.0 % ± 0.1 %" in page
    assert text_of(client, "/alice/stars/perf?build=default") == page
    fastest = text_of(client, f"/alice/stars/perf?build={builds[1].uuid}")
    assert fastest != page
    for name in ("exact", "onnxruntime"):
        assert text_of(client, f"/alice/stars/perf?build={name}") == fastest
    assert "no build" in text_of(client, "/alice/stars/perf?build=int8", 404).lower()
    assert text_of(client, f"/alice/stars/perf?target={shopfloor.SLUG}&metric=time")
    assert "No profile yet" in text_of(client, "/alice/stars/perf?target=riscv64")
    assert "no build" in text_of(client, f"/alice/stars/perf?build={'0' * 32}", 404).lower()
    other = profiles.publish(shopfloor.floor("bob/resnet"), profiles.planted())[0]
    assert text_of(client, f"/alice/stars/perf?build={other.uuid}", 404)
    Build.objects.filter(pk=builds[1].pk).update(withdrawn_at=builds[1].created_at)
    assert "A newer search replaced" in text_of(client, f"/alice/stars/perf?build={builds[1].uuid}")


def test_a_group_that_does_not_exist_is_not_found(client: Client, builds: list[Build]) -> None:
    assert text_of(client, "/alice/stars/perf/groups/99", 404)
    assert text_of(client, "/alice/stars/perf?group=99&tab=loops")
    assert text_of(client, "/alice/stars/perf?group=%C2%B2")


def test_without_a_profile_the_page_says_why(client: Client, floor: Floor) -> None:
    assert "No build has been published yet" in text_of(client, "/alice/stars/perf")
    build = profiles.publish(floor, profiles.planted())[0]
    build.profile.delete()
    assert "None of its builds has a profile" in text_of(client, "/alice/stars/perf")
    floor.graph.delete()
    assert "no inspected network" in text_of(client, "/alice/stars/perf")


def test_what_cannot_be_true_is_said_and_not_drawn(client: Client, builds: list[Build]) -> None:
    sites = CallSite.objects.filter(profile__build=builds[1])
    sites.filter(sequence=1).update(median_ns=10**19 // 2)
    sites.filter(sequence=2).update(median_ns=-7)
    page = text_of(client, "/alice/stars/perf")
    assert "2 calls with a time that cannot be part of this run (call 1" in page
    assert "no valid time" in page
    assert "The calls take 300 ns together, the run 1.00 µs" in page
    assert "5e+18" not in page
    sites.update(nodes=[])
    assert "No call is linked to a node" in text_of(client, "/alice/stars/perf")
    sites.delete()
    assert "The profile has no calls" in text_of(client, "/alice/stars/perf")
    Profile.objects.filter(build=builds[1]).update(total_ns=0)
    assert text_of(client, "/alice/stars/perf")


def test_code_that_is_lost_or_absent_is_said(client: Client, builds: list[Build]) -> None:
    group = f"/alice/stars/perf/groups/1?build={builds[1].uuid}"
    for code in KernelCode.objects.all():
        if blob_store().exists(code.blob_id):
            blob_store().delete(code.blob_id)
    assert "no longer stored" in text_of(client, f"{group}&tab=asm")
    assert "no loop nest of this kernel" in text_of(client, f"{group}&tab=loops")
    assert "no assembly of this kernel" in text_of(client, f"{group}&tab=asm".replace("/1?", "/2?"))
    assert "does not expose the code" in text_of(client, f"{group}&tab=code".replace("/1?", "/0?"))


def test_a_gate_hides_code_and_network_but_not_times(
    client: Client, builds: list[Build], floor: Floor
) -> None:
    mlmodel_update(actor=floor.alice, mlmodel=floor.revision.mlmodel, gate=Gate.MANUAL)
    make_user("eve")
    client.login(username="eve", password=PASSWORD)
    group = f"/alice/stars/perf/groups/1?build={builds[1].uuid}"
    for tab in ("loops", "code", "asm"):
        page = text_of(client, f"{group}&tab={tab}")
        assert "Only people with access" in page
        assert "T.Buffer" not in page
        assert "vfmadd" not in page
    assert "50.0 %" in text_of(client, "/alice/stars/perf")
    assert "The files of this model are restricted" in text_of(client, "/alice/stars/perf")


def test_a_private_model_is_not_found_by_others(client: Client, builds: list[Build]) -> None:
    mlmodel = builds[0].graph.revision.mlmodel
    mlmodel.visibility = Visibility.PRIVATE
    mlmodel.save()
    for address in (
        "/alice/stars/perf",
        "/alice/stars/perf/groups/1",
        "/alice/stars/perf?format=csv",
    ):
        assert client.get(address).status_code == 404
    assert client.get("/tune-next").content.decode().count("alice/stars") == 0


def export(client: Client, name: str) -> Any:
    answer = client.get(f"/alice/stars/perf?format={name}")
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    return answer.content


def test_exports_carry_their_origin_and_the_numbers(client: Client, builds: list[Build]) -> None:
    document = json.loads(export(client, "json"))
    source = document["source"]
    assert source["build"] == str(builds[1].uuid)
    assert source["record"] == builds[1].record_id
    assert f"build={builds[1].uuid}" in source["permalink"]
    assert source["environment"]["packages"]
    assert [one["median_ns"] for one in document["groups"]] == [50, 500, 100, 150, 100]
    assert document["groups"][1]["workload"] == profiles.WORKLOAD
    # The permalink reproduces the view.
    assert client.get(source["permalink"].partition("://")[2].partition("/")[1]
                      + source["permalink"].split("/", 3)[3]).status_code == 200  # fmt: skip

    lines = export(client, "csv").decode().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert any(str(builds[1].uuid) in line for line in comments)
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert sum(float(row["share"]) for row in rows) == pytest.approx(0.9)

    trace = json.loads(export(client, "trace"))
    assert [event["dur"] for event in trace["traceEvents"]] == [0.05, 0.5, 0.1, 0.15, 0.1]
    assert trace["traceEvents"][1]["ts"] == 0.05

    data = json.loads(export(client, "nodedata"))
    assert data["results"]["0"]["value"] == 50
    assert data["results"]["1"]["value"] == 50

    schedules = json.loads(gzip.decompress(export(client, "schedules")))
    assert [one["trace"] for one in schedules["records"]] == [profiles.TRACE]
    assert schedules["records"][0]["workload"] == profiles.WORKLOAD


def test_a_spreadsheet_runs_no_name_of_a_call(client: Client, floor: Floor) -> None:
    sites = [call_site('=HYPERLINK("x")', 10, (0, "exact"))]
    profiles.publish(floor, shopfloor.profile(call_sites=sites, kernels=[]))
    text = export(client, "csv").decode()
    rows = list(csv.reader(io.StringIO(text)))
    assert any(cell == '\'=HYPERLINK("x")' for row in rows for cell in row)


def test_names_of_calls_are_escaped(client: Client, floor: Floor) -> None:
    sites = [call_site("<script>alert(1)</script>", 10, (0, "exact"), operator="<b>x")]
    profiles.publish(floor, shopfloor.profile(call_sites=sites, kernels=[]))
    content = client.get("/alice/stars/perf").content.decode()
    assert "<script>alert(1)" not in content
    assert "<b>x" not in content


def test_what_to_tune_next_queues_a_search_for_those_who_may(
    client: Client, builds: list[Build], alice: User
) -> None:
    page = text_of(client, "/tune-next")
    assert "alice/stars" in page
    assert "Search schedules" not in page
    form = {"target": shopfloor.SLUG, "mlmodel": "alice/stars"}
    assert "/login" in client.post("/tune-next", form)["Location"]
    client.force_login(User.objects.get(username="alice"))
    assert "Search schedules" in text_of(client, "/tune-next")
    answer = client.post("/tune-next", form)
    assert answer.status_code == 302
    job = builds[0].graph.revision.jobs.get(kind="schedule")
    assert str(job.uuid) in answer["Location"]
    client.force_login(make_user("eve"))
    assert client.post("/tune-next", form).status_code == 403
    assert client.get("/tune-next?target=nowhere").status_code == 404
