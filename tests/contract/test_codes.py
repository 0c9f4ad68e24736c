"""What both sides must spell alike."""

from hpcfair import errors as theirs
from hpcfair import resolution
from hpcfair.digest import sha256_of_json
from hpcfair.measurement.outputs import LIMITS
from hpcfair.record import record_id
from registry.errors import CODES
from registry.states import ToleranceClass
from tests.registry import shopfloor
from workers.engine.types import TOLERANCES, sha256_of


def test_client_and_hub_know_the_same_codes() -> None:
    assert set(theirs.CODES) == set(CODES)


def test_client_and_hub_know_the_same_tolerances_strictest_first() -> None:
    assert list(resolution.TOLERANCES) == [str(value) for value in ToleranceClass]


def test_every_tolerance_class_has_its_limits_strictest_first() -> None:
    assert list(LIMITS) == list(TOLERANCES)
    for figure in ("max_relative", "relative_l2"):
        allowed = [getattr(limit, figure) for limit in LIMITS.values()]
        assert allowed == sorted(allowed)


def test_client_and_hub_name_a_record_alike() -> None:
    assert record_id(shopfloor.EXAMPLE) == shopfloor.EXAMPLE["record_id"]


def test_client_and_workers_hash_json_alike() -> None:
    value = {"ü": [1, 2.5, 1e-7, None, True], "a": {"b": "\u2028"}}

    assert sha256_of_json(value) == sha256_of(value)
