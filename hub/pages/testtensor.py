"""Test tensors as the page of builds shows them."""

from dataclasses import dataclass

from registry.fair.addresses import RepositoryAddress
from registry.selectors.results.testtensor import test_path, test_sets
from registry.tables import MLModel, Revision, TestTensor

#: More are left to the API.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ShownSet:
    """One test set; each tensor with its address on this hub."""

    number: int
    is_made: bool
    tensors: list[tuple[TestTensor, str]]


def shown_sets(mlmodel: MLModel, revision: Revision) -> tuple[list[ShownSet], int]:
    """The first test sets of the revision's network, and how many there are."""
    place = RepositoryAddress("", "model", mlmodel.full_name)
    found = test_sets(revision)
    shown = [
        ShownSet(
            number,
            rows[0].is_made,
            [(row, place.test(revision.oid, test_path(row))) for row in rows],
        )
        for number, rows in list(found.items())[:_SHOWN]
    ]
    return shown, len(found)
