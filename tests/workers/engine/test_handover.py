"""What a child says of a build's profile is believed as far as it makes sense."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcfair.isolation.limits import Limits
from workers.engine.errors import CandidateFailed
from workers.engine.handover import profile_of
from workers.engine.profile import CallSite, Kernel, NodeLink, Profile, profile_to_dict

LIMITS = Limits(file_bytes=2**20)
HONEST = Profile(
    "pretend profiler 1",
    100,
    (CallSite("conv", "Conv", 60, 1, 5, kernel="k", nodes=(NodeLink(0, "exact"),)),),
    (Kernel("k", workload="a" * 64, code={"asm": "k.s"}, schedule=[["Split", [8, 4]]]),),
    (1, 2),
)
HOSTILE: list[tuple[str, Any]] = [
    ("method", None),
    ("total_ns", -1),
    ("total_ns", "much"),
    ("total_ns", float("nan")),
    ("total_ns", float("inf")),
    ("total_ns", 2**70),
    ("call_sites", None),
    ("call_sites", ["conv"]),
    ("call_sites.0.name", ""),
    ("call_sites.0.name", 7),
    ("call_sites.0.name", "\ud800"),
    ("call_sites.0.median_ns", "60"),
    ("call_sites.0.median_ns", -60),
    ("call_sites.0.median_ns", 60.5),
    ("call_sites.0.median_ns", True),
    ("call_sites.0.runs", None),
    ("call_sites.0.kernel", "nobody"),
    ("call_sites.0.precision", ["float32"]),
    ("call_sites.0.nodes", [{"index": -1, "grade": "exact"}]),
    ("call_sites.0.nodes", [{"index": 0, "grade": "surely"}]),
    ("call_sites.0.nodes", [{"index": [], "grade": "exact"}]),
    ("call_sites.0.nodes", [{"index": 0}]),
    ("call_sites.0.extra", 1),
    ("kernels.0.symbol", None),
    ("kernels.0.code", ["k.s"]),
    ("kernels.0.code", {"asm": "missing.s"}),
    ("kernels.0.code", {"asm": "../k.s"}),
    ("kernels.0.code", {"asm": "/etc/passwd"}),
    ("kernels.0.code", {"asm": "."}),
    ("kernels.0.code", {"asm": 7}),
    ("kernels.0.code", {"asm": "k.s\0"}),
    ("kernels.0.schedule", "x" * 2**26),
    ("folded", [1.5]),
    ("folded", "12"),
]


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A child's folder with the code of one kernel."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "k.s").write_text("vfmadd231ps")
    return folder


def spoilt(where: str, what: Any) -> dict[str, Any]:
    made = copy.deepcopy(profile_to_dict(HONEST))
    made["call_sites"] = [{**site, "nodes": list(site["nodes"])} for site in made["call_sites"]]
    *path, last = where.split(".")
    part: Any = made
    for step in path:
        part = part[int(step) if step.isdigit() else step]
    part[last] = what
    return made


def test_an_honest_profile_is_taken(code: Path) -> None:
    assert profile_of(profile_to_dict(HONEST), code, LIMITS) == HONEST


@pytest.mark.parametrize(("where", "what"), HOSTILE)
def test_an_invalid_answer_is_a_failure_of_the_candidate(code: Path, where: str, what: Any) -> None:
    with pytest.raises(CandidateFailed, match="answer is invalid"):
        profile_of(spoilt(where, what), code, LIMITS)


def test_two_kernels_of_one_symbol_are_refused(code: Path) -> None:
    described = profile_to_dict(HONEST)
    described["kernels"] = [*described["kernels"], *described["kernels"]]
    with pytest.raises(CandidateFailed, match="two kernels"):
        profile_of(described, code, LIMITS)


def test_a_profile_without_a_bottom_is_refused(code: Path) -> None:
    schedule: list[Any] = []
    for _ in range(100_000):
        schedule = [schedule]
    with pytest.raises(CandidateFailed, match="answer is invalid"):
        profile_of(spoilt("kernels.0.schedule", schedule), code, LIMITS)


def test_code_that_is_no_plain_file_is_refused(code: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (code / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(CandidateFailed, match="no plain file"):
        profile_of(spoilt("kernels.0.code", {"asm": "link"}), code, LIMITS)


def test_code_beyond_the_limit_of_files_is_refused(code: Path) -> None:
    with (code / "huge").open("wb") as file:
        file.truncate(2**21)
    with pytest.raises(CandidateFailed, match="over the limit"):
        profile_of(profile_to_dict(HONEST), code, LIMITS)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(anything, st.sampled_from([where for where, _ in HOSTILE]))
def test_whatever_is_said_nothing_else_is_raised(
    tmp_path_factory: pytest.TempPathFactory, what: Any, where: str
) -> None:
    code = tmp_path_factory.mktemp("code")
    (code / "k.s").touch()
    for described in (what, spoilt(where, what)):
        try:
            profile_of(described, code, LIMITS)
        except CandidateFailed:
            continue
