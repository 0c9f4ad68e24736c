"""The machine as this process may use it, on recorded /proc and /sys trees and on the real one."""

import json
from pathlib import Path

import pytest

from hpcfair import _linux, machine

XEON = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8480+
stepping\t: 8
microcode\t: 0x2b000461
flags\t\t: fpu sse sse4_2 avx f16c fma avx2 avx512f avx512dq avx512bw avx512vl avx512_vnni \
avx512_bf16 avx512_fp16 amx_bf16 amx_tile amx_int8 avx_vnni

processor\t: 1
model name\t: never read
"""
ALTRA = """processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes crc32 atomics fphp asimdhp cpuid asimdrdm asimddp
CPU implementer\t: 0x41
CPU part\t: 0xd0c
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def topology(cores: dict[int, str]) -> dict[str, str]:
    base = "sys/devices/system/cpu"
    return {f"{base}/cpu{cpu}/topology/core_id": core for cpu, core in cores.items()} | {
        f"{base}/cpu{cpu}/topology/physical_package_id": "0" for cpu in cores
    }


def test_a_xeon_is_read_from_cpuinfo(tmp_path: Path) -> None:
    cpu = _linux.processor(write(tmp_path, {"proc/cpuinfo": XEON}))
    assert cpu.name == "Intel(R) Xeon(R) Platinum 8480+"
    assert (cpu.family, cpu.model, cpu.stepping, cpu.microcode) == ("6", "143", "8", "0x2b000461")
    assert "amx_int8" in cpu.flags


def test_an_arm_core_is_named_by_its_part_number(tmp_path: Path) -> None:
    cpu = _linux.processor(write(tmp_path, {"proc/cpuinfo": ALTRA}))
    assert cpu.name == "Neoverse N1"
    assert "asimddp" in cpu.flags
    assert cpu.family is None


def test_hyperthreads_of_one_core_count_once(tmp_path: Path) -> None:
    root = write(tmp_path, topology({0: "0", 1: "1", 2: "0", 3: "1"}))
    assert _linux.usable_cores(root, [0, 1, 2, 3]) == 2
    assert _linux.usable_cores(root, [0, 2]) == 1


def test_cpus_without_a_topology_count_as_cores(tmp_path: Path) -> None:
    assert _linux.usable_cores(tmp_path, [0, 1, 2]) == 3


@pytest.mark.parametrize(
    ("quota", "cores"), [("350000 100000", 3), ("50000 100000", 1), ("max 100000", 8)]
)
def test_the_cpu_quota_of_a_cgroup_limits_the_cores(tmp_path: Path, quota: str, cores: int) -> None:
    root = write(
        tmp_path,
        {"proc/self/cgroup": "0::/job/step", "sys/fs/cgroup/job/step/cpu.max": quota},
    )
    assert _linux.usable_cores(root, list(range(8))) == cores


def test_the_tightest_quota_on_the_way_up_counts(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/job/step",
            "sys/fs/cgroup/job/step/cpu.max": "600000 100000",
            "sys/fs/cgroup/job/cpu.max": "200000 100000",
        },
    )
    assert _linux.usable_cores(root, list(range(8))) == 2


def test_a_version_1_cgroup_is_understood(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/box\n3:cpu,cpuacct:/box\n0::/",
            "proc/meminfo": "MemTotal:       16777216 kB\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "400000",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1073741824",
        },
    )
    assert _linux.usable_cores(root, list(range(16))) == 4
    assert _linux.memory_bytes(root) == 2**30


def test_memory_without_a_limit_is_all_of_it(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/",
            "proc/meminfo": "MemTotal:       16777216 kB\nMemFree: 1 kB\n",
            "sys/fs/cgroup/memory.max": "max",
        },
    )
    assert _linux.memory_bytes(root) == 16 * 2**30
    assert _linux.memory_bytes(tmp_path / "nothing") is None


def test_caches_are_read_with_their_units(tmp_path: Path) -> None:
    base = "sys/devices/system/cpu/cpu0/cache"
    root = write(
        tmp_path,
        {
            f"{base}/index0/level": "1",
            f"{base}/index0/type": "Data",
            f"{base}/index0/size": "48K",
            f"{base}/index3/level": "3",
            f"{base}/index3/type": "Unified",
            f"{base}/index3/size": "105M",
        },
    )
    assert dict(_linux.caches(root)) == {"L1d": 48 * 2**10, "L3": 105 * 2**20}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc/cpuinfo": XEON}, "none"),
        ({"proc/cpuinfo": XEON.replace("fpu", "fpu hypervisor")}, "vm"),
        ({"proc/cpuinfo": ALTRA, "sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "vm"),
        ({"proc/cpuinfo": XEON, ".dockerenv": ""}, "container"),
        ({"proc/cpuinfo": ALTRA}, None),
    ],
)
def test_virtual_machines_and_containers_are_told(
    tmp_path: Path, files: dict[str, str], expected: str | None
) -> None:
    root = write(tmp_path, files)
    assert _linux.virtualisation(root, _linux.processor(root)) == expected


def with_features(architecture: str, features: set[str]) -> machine.Machine:
    return machine.Machine(
        architecture=architecture,
        features=tuple(sorted(features)),
        cores=4,
        logical_cpus=8,
        memory_bytes=None,
        processor="test",
        os="Linux",
        kernel="6",
    )


@pytest.mark.parametrize(
    ("architecture", "features", "slug"),
    [
        ("x86-64", {"sse4_2"}, "x86-64-baseline"),
        ("x86-64", {"avx2", "fma", "f16c", "avx_vnni"}, "x86-64-avx2"),
        ("arm64", {"asimd"}, "arm64-generic"),
        ("arm64", {"asimd", "asimddp", "asimdhp"}, "arm64-neoverse-n1"),
        ("ppc64le", set(), "ppc64le-generic"),
    ],
)
def test_the_closest_target_is_taken(architecture: str, features: set[str], slug: str) -> None:
    assert machine.target_slug(with_features(architecture, features)) == slug


@pytest.mark.parametrize("target", machine.TARGETS, ids=lambda target: target.slug)
def test_a_machine_with_just_the_features_of_a_target_gets_that_target(
    target: machine.TargetDefinition,
) -> None:
    assert machine.target_of(with_features(target.architecture, set(target.features))) == target


def test_targets_ask_only_for_features_that_are_looked_for() -> None:
    asked = {feature for target in machine.TARGETS for feature in target.features}
    assert asked <= machine.FEATURES


def test_this_machine_is_described_in_full_and_turns_into_json() -> None:
    here = machine.describe()
    assert here.cores >= 1
    assert here.logical_cpus >= here.cores
    assert here.memory_bytes is None or here.memory_bytes > 2**27
    document = json.loads(json.dumps(here.to_dict()))
    assert document["features"] == sorted(document["features"])
    assert None not in document.values()
