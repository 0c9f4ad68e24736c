"""What both sides must spell alike."""

from hpcfair import errors as theirs
from hpcfair.digest import sha256_of_json
from hpcfair.record import record_id
from registry.errors import CODES
from tests.registry import shopfloor
from workers.engine.types import sha256_of


def test_client_and_hub_know_the_same_codes() -> None:
    assert set(theirs.CODES) == set(CODES)


def test_client_and_hub_name_a_record_alike() -> None:
    assert record_id(shopfloor.EXAMPLE) == shopfloor.EXAMPLE["record_id"]


def test_client_and_workers_hash_json_alike() -> None:
    value = {"ü": [1, 2.5, 1e-7, None, True], "a": {"b": "\u2028"}}

    assert sha256_of_json(value) == sha256_of(value)
