"""What a machine tells of itself around a measurement, from recorded trees of files."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from workers.engine.condition import Condition, quality_between, read_condition
from workers.engine.spent import Spent

CPU = "sys/devices/system/cpu"
TICKS = os.sysconf("SC_CLK_TCK")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def process(pid: int, parent: int, ticks: int) -> dict[str, str]:
    """A ``stat`` whose name is as awkward as names may be."""
    fields = f"S {parent} {pid} {pid} 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5"
    return {f"proc/{pid}/stat": f"{pid} (a) b (c) {fields}\n"}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Two processors of a Xeon, a worker with a child and a grandchild, and a stranger."""
    me = os.getpid()
    return write(
        tmp_path,
        {
            f"{CPU}/cpu0/cpufreq/scaling_cur_freq": "3100000\n",
            f"{CPU}/cpu1/cpufreq/scaling_cur_freq": "2500000\n",
            f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "2\n",
            f"{CPU}/cpu0/thermal_throttle/package_throttle_count": "1\n",
            "sys/class/thermal/thermal_zone0/type": "acpitz\n",
            "sys/class/thermal/thermal_zone0/temp": "99000\n",
            "sys/class/thermal/thermal_zone1/type": "x86_pkg_temp\n",
            "sys/class/thermal/thermal_zone1/temp": "61500\n",
            "proc/pressure/memory": "some avg10=0.00 total=500000\nfull avg10=0.00 total=7\n",
            "proc/stat": f"cpu  {50 * TICKS} 0 {10 * TICKS} 999 9 0 0 {5 * TICKS} 3 0\n"
            "cpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5\n",
            **process(me, 1, 4 * TICKS),
            **process(900_001, me, 3 * TICKS),
            **process(900_002, 900_001, 2 * TICKS),
            **process(900_003, 1, 40 * TICKS),
        },
    )


def test_a_server_tells_clocks_heat_memory_and_whose_time_it_was(server: Path) -> None:
    found = read_condition(server)
    assert found.clocks_mhz == (3100, 2500)
    assert (found.throttles, found.temperature_c) == (3, 61.5)
    assert found.memory_stalled_us == 500_000
    assert found.spent == Spent(busy_s=65, stolen_s=5, own_s=9, processors=2)


def test_without_cpufreq_the_clock_is_the_kernels_figure(tmp_path: Path) -> None:
    write(tmp_path, {"proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 2499.998\n"})
    assert read_condition(tmp_path).clocks_mhz == (2499.998,)


@pytest.mark.parametrize("stat", ["", "cpu", "cpu many", "rubbish\n"])
def test_what_is_not_told_is_left_out(tmp_path: Path, stat: str) -> None:
    write(tmp_path, {"proc/stat": stat, "proc/12/stat": "12 (cut", "proc/pressure/memory": "full"})
    found = read_condition(tmp_path)
    assert replace(found, at_s=0.0) == Condition(0.0)
    assert quality_between(found, read_condition(tmp_path)) == {}


def test_two_moments_say_what_was_between_them() -> None:
    before = Condition(10.0, (2000.0, 2500.0), 3, 50.0, 0, Spent(100.0, 0.0, 40.0, 2))
    after = Condition(20.0, (2400.0, 3000.0), 5, 72.0, 1_000_000, Spent(116.0, 0.0, 52.0, 2))
    assert quality_between(before, after) == {
        "clock_min_mhz": 2000.0,
        "clock_max_mhz": 3000.0,
        "clock_mhz": 2700.0,
        "throttled": True,
        "temperature_c": 72.0,
        "memory_stall_share": 0.1,
        # 16 s were spent in 10 s of two processors, 12 of them by us.
        "cotenant_cpu_share": 0.2,
    }


def test_shares_stay_shares_whatever_the_counters_did() -> None:
    before = Condition(0.0, memory_stalled_us=5, spent=Spent(10.0, 0.0, 1.0))
    after = Condition(1.0, memory_stalled_us=10**9, spent=Spent(10.0, 0.0, 9.0))
    found = quality_between(before, after)
    assert (found["memory_stall_share"], found["cotenant_cpu_share"]) == (1.0, 0.0)


def test_this_machine_answers() -> None:
    found = read_condition()
    assert found.spent.own_s is None or found.spent.own_s > 0
    assert all(mhz > 0 for mhz in found.clocks_mhz)
