"""Answers to the reads of a bundle's jobs: the hub's data at the export, and what the jobs have
written since."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hpcfair.bundle import NO_SEARCH_KEY
from workers.device.errors import HubError

#: Names and columns of the writes of a job, in order.
Writes = Sequence[tuple[str, dict[str, Any]]]
_Row = dict[str, Any]

#: Reads about the device, whose answers contain what all jobs of the bundle have written.
OF_DEVICE = frozenset({"roof_tools"})
#: Answers for parameters that the hub has no data for.
_EMPTY_ANSWERS: dict[str, Any] = {
    "history": [],
    "schedules_best": [],
    "schedules_similar": [],
    "schedule_trials": [],
    "principles": [],
    "class_trials": [],
    "pass_trials_of_job": [],
    "portfolio_of": {},
    "is_search_due": False,
    "builds_of_job": [],
    "outcomes_of_job": {},
    "tests_of_job": [],
}
#: Optional columns of stored trials, which writes may leave out.
_TRIAL = dict.fromkeys(
    ("predicted_ratio", "tolerance", "ratio", "ratio_low", "ratio_high", "p50_ns", "deviation",
     "accuracy", "measurement", "compile_s")
)  # fmt: skip
_PASS_TRIAL = dict.fromkeys(
    ("compile_s", "compile_ratio", "compile_ratio_low", "compile_ratio_high", "ratio", "ratio_low",
     "ratio_high", "measurement")
)  # fmt: skip
_SCHEDULE_TRIAL = dict.fromkeys(("predicted", "confirmed", "confirmed_at", "trace"))
#: Later than every time at which the hub stored a confirmation.
_LAST = "9999-12-31T00:00:00+00:00"


class BundleAnswers:
    """The answers of a bundle.

    Args:
        document: ``{"values": [...], "answers": {<job>: [{"name", "parameters", "value"}]}}``,
            where ``value`` is a position in ``values``.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._values: Sequence[Any] = document["values"]
        self._answers: Mapping[str, Sequence[_Row]] = document["answers"]

    def answer(self, job: str, name: str, parameters: _Row, writes: Writes) -> Any:
        """The answer to a read of a job after ``writes``: its own, for :data:`OF_DEVICE` those of
        all jobs. Raises HubError if the bundle has none."""
        stored: Any
        if name == "portfolio_of":
            stored = self._portfolio(job, parameters)
        elif name == "principles":
            stored = self._principles(job, parameters)
        else:
            stored = self._stored(job, name, parameters)
        merge = _MERGES.get(name)
        return merge(stored, parameters, writes) if merge else stored

    def _stored(self, job: str, name: str, parameters: _Row) -> Any:
        for one in self._answers.get(job, ()):
            if one["name"] == name and one["parameters"] == parameters:
                return self._values[one["value"]]
        if name == "experience" and parameters != {"search_key": NO_SEARCH_KEY}:
            return self._stored(job, name, {"search_key": NO_SEARCH_KEY})
        if name not in _EMPTY_ANSWERS:
            raise HubError("invalid_bundle", f"The bundle has no answer to {name} for job {job}.")
        return _EMPTY_ANSWERS[name]

    def _portfolio(self, job: str, parameters: _Row) -> dict[str, Any]:
        """The portfolios of all backends; the bundle has each by itself."""
        portfolios: dict[str, Any] = {}
        for backend, toolchain in parameters["toolchains"].items():
            one = parameters | {"toolchains": {backend: toolchain}}
            portfolios |= self._stored(job, "portfolio_of", one)
        return portfolios

    def _principles(self, job: str, parameters: _Row) -> list[_Row]:
        """The principles of all anchors; the bundle has those of each by itself."""
        return [
            principle
            for anchor in parameters["anchors"]
            for principle in self._stored(job, "principles", {"anchors": [anchor]})
        ]


def _trials(stored: list[_Row], _: _Row, writes: Writes) -> list[_Row]:
    return [*stored, *(_TRIAL | columns["trial"] for columns in _columns_of("trial_add", writes))]


def _pass_trials(stored: list[_Row], parameters: _Row, writes: Writes) -> list[_Row]:
    rows = (_PASS_TRIAL | columns["trial"] for columns in _columns_of("pass_trial_add", writes))
    return [*stored, *(row for row in rows if parameters.items() <= row.items())]


def _class_trials(stored: list[_Row], parameters: _Row, writes: Writes) -> list[_Row]:
    rows = _pass_trials(stored, parameters, writes)
    return [row for row in rows if row["outcome"] == "measured"]


def _own_schedule_trials(stored: list[_Row], _: _Row, writes: Writes) -> list[_Row]:
    rows = [
        _SCHEDULE_TRIAL | columns["trial"] for columns in _columns_of("schedule_trial_add", writes)
    ]
    confirmed = {
        (columns["key"], columns["digest"]): columns
        for columns in _columns_of("schedule_confirm", writes)
    }
    return [_with_confirmation(row, confirmed) for row in (*stored, *rows)]


def _schedule_trials(stored: list[_Row], parameters: _Row, writes: Writes) -> list[_Row]:
    rows = _own_schedule_trials(stored, parameters, writes)
    return [row for row in rows if row["key"] == parameters["key"]]


def _with_confirmation(row: _Row, confirmed: Mapping[tuple[str, str], _Row]) -> _Row:
    columns = confirmed.get((row["key"], row["digest"]))
    if columns is None:
        return row
    return row | {
        "confirmed": columns["seconds"],
        "confirmed_at": _LAST,
        "trace": columns["trace"],
    }


def _ablations(stored: list[_Row], _: _Row, writes: Writes) -> list[_Row]:
    return [*stored, *(columns["ablation"] for columns in _columns_of("ablation_add", writes))]


def _cross_applications(stored: list[_Row], _: _Row, writes: Writes) -> list[_Row]:
    rows = _columns_of("cross_application_add", writes)
    return [*stored, *(columns["application"] for columns in rows)]


def _roof_tools(stored: list[str], _: _Row, writes: Writes) -> list[str]:
    return [*stored, *(columns["tools_sha256"] for columns in _columns_of("roofs_store", writes))]


def _outcomes(stored: dict[str, str], _: _Row, writes: Writes) -> dict[str, str]:
    rows = _columns_of("reproduction_add", writes)
    return stored | {columns["build"]: columns["outcome"] for columns in rows}


def _tests(stored: list[_Row], _: _Row, writes: Writes) -> list[_Row]:
    """Test tensors that the job stored, as tickets; sizes are not needed to read them."""
    rows = [
        tensor for columns in _columns_of("tests_store", writes) for tensor in columns["tensors"]
    ]
    return stored or [tensor_ticket(tensor) for tensor in rows]


def tensor_ticket(tensor: _Row) -> _Row:
    """A test tensor that a job stores, in the form of the hub's answer: the ticket of its file."""
    path = f"test_data_set_{tensor['number']}/{tensor['side']}_{tensor['index']}.pb"
    described = {name: tensor[name] for name in ("number", "side", "index", "name", "is_made")}
    return {**described, "file": {"path": path, "sha256": tensor["sha256"], "size_bytes": 0}}


def _columns_of(name: str, writes: Writes) -> list[_Row]:
    return [columns for each, columns in writes if each == name]


#: Reads whose answers contain what the job has written.
_MERGES: dict[str, Callable[[Any, _Row, Writes], Any]] = {
    "trials_of_job": _trials,
    "pass_trials_of_job": _pass_trials,
    "class_trials": _class_trials,
    "schedule_trials_of_job": _own_schedule_trials,
    "schedule_trials": _schedule_trials,
    "ablations_of_job": _ablations,
    "cross_applications_of_job": _cross_applications,
    "roof_tools": _roof_tools,
    "outcomes_of_job": _outcomes,
    "tests_of_job": _tests,
}
