"""Arrays are checked against the signature, and what does not fit is told how to."""

from typing import Any

import numpy as np
import pytest

from hpcfair.errors import BadInput, RuntimeFailed
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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("float32", "float64"),
        ("float16", "float32"),
        (">f4", "float32"),
        ("int32", "int64"),
        ("uint8", "int16"),
        ("uint8", "uint16"),
    ],
)
def test_a_narrower_type_of_the_same_kind_is_widened(given: str, expected: str) -> None:
    values = np.array([[0, 1, 100]], given)

    bound = one_input(expected).bind((values,), {})["x"]

    assert bound.dtype == np.dtype(expected)
    assert bound.dtype.isnative
    np.testing.assert_array_equal(bound, values)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("float64", "float32"),
        ("float32", "float16"),
        ("int64", "int32"),
        ("int64", "uint64"),
        ("uint64", "int64"),
        ("uint8", "float32"),
        ("int64", "float64"),
        ("float32", "int64"),
        ("bool", "float32"),
        ("complex64", "float64"),
    ],
)
def test_a_cast_that_loses_or_hides_something_is_refused_with_the_signature(
    given: str, expected: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        one_input(expected).bind((np.ones((1, 3), given),), {})
    assert f"convert with x.astype('{expected}')" in str(refusal.value)
    assert f"The inputs are x: {expected}[N,3]." in str(refusal.value)


def test_a_tensor_that_will_not_be_an_array_is_refused() -> None:
    class Tensor:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    with pytest.raises(BadInput, match="requires grad"):
        IMAGE.bind((Tensor(),), {})
    with pytest.raises(BadInput, match="is no array of uint8"):
        one_input("uint8").bind(([[300, 0, 0]],), {})


def one_input(dtype: str) -> Signature:
    tensors = [{"name": "x", "dtype": dtype, "shape": ["N", 3]}]
    return Signature.from_json({"inputs": tensors, "outputs": tensors})


def test_outputs_have_names_order_and_types_of_the_signature() -> None:
    both = Signature.from_json(
        {
            "inputs": [],
            "outputs": [
                {"name": "label", "dtype": "int64", "shape": ["N"]},
                {"name": "scores", "dtype": "float32", "shape": ["N", 2]},
            ],
        }
    )
    label, scores = np.array([1], np.int32), np.array([[0.1, 0.9]])

    for outputs in ({"scores": scores, "label": label}, {"label:0": label, "scores:0": scores}):
        arranged = both.arrange(outputs)
        assert list(arranged) == ["label", "scores"]
        assert [array.dtype for array in arranged.values()] == [np.int64, np.float32]
    with pytest.raises(RuntimeFailed, match="'scores', not"):
        both.arrange({"scores": scores})


def test_a_scalar_and_text_are_arrays_like_others() -> None:
    scalar = Signature.from_json(
        {"inputs": [], "outputs": [{"name": "y", "dtype": "float32", "shape": []}]}
    )
    text = Signature.from_json(
        {"inputs": [], "outputs": [{"name": "y", "dtype": "string", "shape": ["N"]}]}
    )

    assert scalar.arrange({"y": np.float32(0.5)})["y"].shape == ()
    assert text.arrange({"y": np.array(["a"], object)})["y"].tolist() == ["a"]
