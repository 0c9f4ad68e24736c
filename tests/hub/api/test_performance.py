"""What a build spends its time on, over HTTP."""

from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene

PATH = "models/lab/galaxy-cnn/performance"


def test_the_slowest_groups_come_first_with_their_shares(anonymous: Api, scene: Scene) -> None:
    answer = anonymous.get(PATH).ok()
    assert answer["build"] == str(scene.fast.uuid)
    assert (answer["total_ns"], answer["sum_ns"], answer["gap_ns"]) == (100, 95, 5)
    assert answer["is_reconciled"]
    assert [one["sequence"] for one in answer["groups"]] == [1, 2, 0]
    assert [one["share"] for one in answer["groups"]] == [0.6, 0.3, 0.05]
    assert answer["groups"][0]["marks"] == ["untuned", "bfloat16"]
    assert answer["count"] == 3
    assert len(anonymous.get(f"{PATH}?limit=1").ok()["groups"]) == 1
    assert anonymous.get(f"{PATH}?limit=0").code == "invalid_request"
    assert anonymous.get(f"{PATH}?target={scene.target.slug}").ok()["build"] == answer["build"]


def test_the_network_names_the_groups_for_those_with_access(anonymous: Api, scene: Scene) -> None:
    labels = [one["label"] for one in anonymous.get(PATH).ok()["groups"]]
    assert labels[0] == "MatMul + Relu"
    mlmodel_update(actor=None, mlmodel=scene.mlmodel, gate=Gate.MANUAL)
    labels = [one["label"] for one in anonymous.get(PATH).ok()["groups"]]
    assert labels[0] == "Conv"


def test_reasons_carry_their_numbers(anonymous: Api, scene: Scene) -> None:
    answer = anonymous.get(f"builds/{scene.fast.uuid}/groups/1").ok()
    assert answer["group"]["share"] == 0.6
    reasons = {one["code"]: one for one in answer["reasons"]}
    assert reasons["precision"]["state"] == "applies"
    assert "bfloat16" in reasons["precision"]["text"]
    assert reasons["untuned"]["state"] == "applies"
    assert reasons["below_roof"]["state"] == "unknown"


def test_what_is_not_there_is_not_found(anonymous: Api, scene: Scene) -> None:
    assert anonymous.get(f"builds/{scene.fast.uuid}/groups/7").code == "group_not_found"
    baseline = anonymous.get(f"{PATH}?build={scene.baseline.uuid}")
    assert baseline.code == "profile_not_found"
    assert anonymous.get(f"{PATH}?target=nowhere").code == "profile_not_found"
