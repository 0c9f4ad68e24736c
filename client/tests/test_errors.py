"""Errors carry what a program and a person need, and can be caught by Python's own classes."""

import pytest

from hpcfair import errors


@pytest.mark.parametrize("code", sorted(errors.CODES))
def test_every_code_makes_an_error_that_formats(code: str) -> None:
    error = errors.CODES[code]("It went wrong.", "Do better.", code=code, fields={"name": "bad"})

    assert str(error) == f"It went wrong. Do better. [{code}]\n  name: bad"
    assert error.code == code


@pytest.mark.parametrize(
    ("code", "builtin"),
    [
        ("model_not_found", FileNotFoundError),
        ("token_expired", PermissionError),
        ("permission_denied", PermissionError),
        ("model_exists", FileExistsError),
        ("invalid_name", ValueError),
        ("body_too_large", ValueError),
        ("storage_full", ConnectionError),
        ("job_crashed", RuntimeError),
    ],
)
def test_a_refusal_is_also_the_builtin_error_of_its_kind(
    code: str, builtin: type[Exception]
) -> None:
    assert issubclass(errors.CODES[code], builtin)
    assert issubclass(errors.CODES[code], errors.HubError)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.Unauthenticated),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (413, errors.TooLarge),
        (418, errors.Invalid),
        (503, errors.Unavailable),
    ],
)
def test_a_code_from_a_newer_hub_falls_back_to_its_status(
    status: int, kind: type[errors.HubError]
) -> None:
    assert errors.class_of("invented_tomorrow", status) is kind


def test_a_local_error_has_a_code_of_its_own() -> None:
    assert str(errors.Offline("Nothing here.")) == "Nothing here. [offline]"


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = errors.__doc__ or ""
    classes = [
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.HpcfairError)
    ]

    assert [name for name in classes if name not in drawn] == []
