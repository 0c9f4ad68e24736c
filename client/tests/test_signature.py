"""Arrays are checked against the signature, and what does not fit is told how to."""

from typing import Any

import numpy as np
import pytest

from hpcfair.errors import BadInput
from hpcfair.signature import Signature

IMAGE = Signature.from_json(
    {
        "inputs": [{"name": "image", "dtype": "float32", "shape": ["N", 3, 8, 8]}],
        "outputs": [{"name": "scores", "dtype": "float32", "shape": ["N", 10]}],
    }
)
TEXT = Signature.from_json(
    {
        "inputs": [
            {"name": "ids", "dtype": "int64", "shape": ["N", "S"]},
            {"name": "mask", "dtype": "int64", "shape": ["N", "S"]},
        ],
        "outputs": [{"name": "y", "dtype": "float32", "shape": ["N"]}],
    }
)
PIXELS = np.zeros((2, 3, 8, 8), np.float32)
IDS = np.ones((2, 5), np.int64)


def test_a_signature_reads_as_people_write_it() -> None:
    assert str(IMAGE) == "float32[N,3,8,8] -> float32[N,10]"
    assert str(TEXT) == "int64[N,S], int64[N,S] -> float32[N]"


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((IDS, IDS), {}),
        ((IDS,), {"mask": IDS}),
        ((), {"ids": IDS, "mask": IDS}),
        (({"mask": IDS, "ids": IDS},), {}),
        (({"ids": IDS},), {"mask": IDS}),
    ],
)
def test_inputs_come_by_place_by_name_or_as_a_mapping(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    assert list(TEXT.bind(args, kwargs)) == ["ids", "mask"]


def test_lists_take_the_type_wanted() -> None:
    bound = TEXT.bind(([[1, 2]], [[1, 1]]), {})

    assert bound["ids"].dtype == np.int64


def test_a_tensor_of_another_library_is_taken_as_an_array() -> None:
    class Tensor:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return PIXELS

    assert IMAGE.bind((Tensor(),), {})["image"].shape == PIXELS.shape


def test_memory_is_laid_out_as_runtimes_read_it() -> None:
    turned = np.zeros((8, 8, 3, 2), np.float32).transpose(3, 2, 0, 1)

    assert IMAGE.bind((turned,), {})["image"].flags.c_contiguous


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (
            (PIXELS, PIXELS),
            {},
            r"2 inputs were given, the model takes 1.*image: float32\[N,3,8,8\]",
        ),
        ((), {}, "Inputs missing: 'image'"),
        ((PIXELS,), {"img": PIXELS}, "Inputs unknown: 'img'"),
        ((PIXELS,), {"image": PIXELS}, "Inputs given twice: 'image'"),
        ((PIXELS.astype(np.float64),), {}, r"astype\('float32'\)"),
        ((PIXELS[0],), {}, r"one dimension is missing.*x\[None\]"),
        ((PIXELS[:, :2],), {}, "must be 3"),
        ((PIXELS[:, 0, 0],), {}, "dimensions"),
        (([["a"]],), {}, "is no array of float32"),
        (([[1.0], [1.0, 2.0]],), {}, "is no array of float32"),
    ],
)
def test_what_does_not_fit_is_told_how_to(
    args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=f"(?s){message}"):
        IMAGE.bind(args, kwargs)


def test_a_named_dimension_is_the_same_everywhere() -> None:
    with pytest.raises(BadInput, match="'S' is 5 in input 'ids' and 4 in 'mask'"):
        TEXT.bind((IDS, IDS[:, :4]), {})


def test_an_unnamed_dimension_may_differ() -> None:
    free = Signature.from_json(
        {"inputs": [{"name": n, "dtype": "int64", "shape": ["?"]} for n in "ab"], "outputs": []}
    )

    assert free.bind((IDS[0], IDS[0, :2]), {})["b"].shape == (2,)
