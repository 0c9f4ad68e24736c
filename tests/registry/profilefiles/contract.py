"""Contract of readers of profile files. Subclass, and say how a file of the format looks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.formats import read, recognised
from registry.profilefiles.types import SENTINEL_NS

#: Names of the operators in a file of :meth:`ReaderContract.file`, in order.
OPERATORS = ("conv1", "relu1", "fc")


class ReaderContract(ABC):
    """What holds for every format.

    Attributes:
        name: Of the format.
        unit_ns: Nanoseconds of a time of 1 in its files.
    """

    name: str
    unit_ns: float

    @abstractmethod
    def file(self, times: Sequence[str]) -> bytes:
        """A file with a call for each of the first :data:`OPERATORS`, and their times as it writes
        them."""

    def test_a_file_is_recognised_and_read(self) -> None:
        data = self.file(["4", "1", "2"])
        chosen = recognised(data)
        assert chosen is not None
        assert chosen.name == self.name
        profile = read(data)
        assert profile.format == self.name
        assert [call.median_ns for call in profile.calls] == [
            round(time * self.unit_ns) for time in (4, 1, 2)
        ]
        assert profile.total_ns >= sum(call.median_ns for call in profile.calls) * 0.99
        assert profile.method

    @pytest.mark.parametrize(
        ("time", "words"),
        [
            ("-1", "negative time"),
            ("NaN", "NaN|nan|finite"),
            ("1e400", "finite"),
            ("", "number|read"),
        ],
    )
    def test_times_that_are_none_are_refused(self, time: str, words: str) -> None:
        with pytest.raises(ProfileFault, match=words):
            read(self.file(["4", time, "2"]))

    def test_sentinels_are_refused_with_their_figure(self) -> None:
        time = str(10 * SENTINEL_NS / self.unit_ns)
        with pytest.raises(ProfileFault, match=r"1 of 3 calls have a time of an hour or more"):
            read(self.file(["4", time, "2"]))

    def test_counters_that_are_all_zero_are_refused(self) -> None:
        with pytest.raises(ProfileFault, match="All 3 calls take no time"):
            read(self.file(["0", "0", "0"]))

    def test_a_file_without_a_call_is_refused(self) -> None:
        with pytest.raises(ProfileFault):
            read(self.file([]), name=self.name)

    def test_half_a_file_is_refused_or_read(self) -> None:
        data = self.file(["4", "1", "2"])
        for end in range(0, len(data), 7):
            self._reads_or_refuses(data[:end])

    @settings(suppress_health_check=[HealthCheck.differing_executors])
    @given(data=st.data())
    def test_damaged_files_are_refused_or_read(self, data: st.DataObject) -> None:
        file = bytearray(self.file(["4", "1", "2"]))
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(file) - 1))
            file[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
        self._reads_or_refuses(bytes(file))

    def _reads_or_refuses(self, data: bytes) -> None:
        try:
            profile = read(data, name=self.name)
        except ProfileFault:
            return
        assert all(0 <= call.median_ns < SENTINEL_NS for call in profile.calls)
