"""Energy from recorded counters: packages once each, around the end of their range, or not."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.programs import needs
from workers.engine.energy import EnergyMeter, zones
from workers.testing.simulation import VirtualClock

RANGE = 1_000_000_000


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    """Two packages, the memory inside one, and the whole platform: the latter count nothing."""
    for folder, name, value in (
        ("intel-rapl:0", "package-0", 500),
        ("intel-rapl:0:0", "dram", 77),
        ("intel-rapl:1", "package-1", RANGE - 1_000_000),
        ("intel-rapl:2", "psys", 99),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "name").write_text(f"{name}\n")
        (tmp_path / folder / "max_energy_range_uj").write_text(f"{RANGE}\n")
        (tmp_path / folder / "energy_uj").write_text(f"{value}\n")
    zones.cache_clear()
    return tmp_path


def spend(powercap: Path, number: int, microjoules: int) -> None:
    counter = powercap / f"intel-rapl:{number}" / "energy_uj"
    counter.write_text(str((int(counter.read_text()) + microjoules) % RANGE))


def a_meter(powercap: Path) -> tuple[EnergyMeter, VirtualClock]:
    clock = VirtualClock()
    return EnergyMeter(clock, zones(powercap)), clock


def test_packages_add_up_around_the_end_of_their_range(powercap: Path) -> None:
    meter, clock = a_meter(powercap)
    for _ in range(2):
        meter.start()
        clock.sleep(0.5)
        spend(powercap, 0, 3_000_000)
        spend(powercap, 1, 7_000_000)
        meter.stop(runs=5)
        # Between the blocks nobody counts.
        spend(powercap, 0, 100_000_000)
    assert meter.as_dict() == {
        "method": "measured",
        "source": "rapl-package",
        "joules_per_run": 2.0,
        "window_s": 1.0,
    }


def test_too_short_a_window_gives_no_figure(powercap: Path) -> None:
    meter, clock = a_meter(powercap)
    meter.start()
    clock.sleep(0.05)
    spend(powercap, 0, 3_000_000)
    meter.stop(runs=5)
    assert meter.as_dict() == {}


@pytest.mark.parametrize(
    "damage",
    ["none", "no range", "text", pytest.param("not ours", marks=needs("unprivileged"))],
)
def test_where_there_is_nothing_to_read_there_is_no_figure(tmp_path: Path, damage: str) -> None:
    if damage != "none":
        folder = tmp_path / "intel-rapl:0"
        folder.mkdir()
        (folder / "name").write_text("package-0")
        (folder / "energy_uj").write_text("many" if damage == "text" else "5")
        if damage != "no range":
            (folder / "max_energy_range_uj").write_text("1000")
        if damage == "not ours":
            (folder / "energy_uj").chmod(0)
    zones.cache_clear()
    meter, clock = a_meter(tmp_path)
    meter.start()
    clock.sleep(1)
    meter.stop(runs=5)
    assert meter.as_dict() == {}


def test_a_counter_that_vanishes_meanwhile_spoils_its_block_alone(powercap: Path) -> None:
    meter, clock = a_meter(powercap)
    meter.start()
    clock.sleep(1)
    spend(powercap, 0, 4_000_000)
    meter.stop(runs=2)
    meter.start()
    (powercap / "intel-rapl:1/energy_uj").unlink()
    meter.stop(runs=2)
    assert meter.as_dict()["joules_per_run"] == 2.0


def test_sources_are_told_together(powercap: Path) -> None:
    @dataclass(frozen=True)
    class Gpu:
        range_uj: int = RANGE
        source: str = "nvml-total-energy"

        def read(self) -> int:
            return 5

    clock = VirtualClock()
    meter = EnergyMeter(clock, (*zones(powercap), Gpu()))
    meter.start()
    clock.sleep(0.5)
    spend(powercap, 0, 3_000_000)
    meter.stop(runs=3)
    assert meter.as_dict()["source"] == "nvml-total-energy+rapl-package"
    assert meter.as_dict()["joules_per_run"] == 1.0
