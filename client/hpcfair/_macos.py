"""Reads the facts of a Mac by ``sysctl``."""

import subprocess

#: Key of ``sysctl`` to the feature in Linux's spelling.
FEATURES = {
    "hw.optional.AdvSIMD": "asimd",
    "hw.optional.arm.FEAT_FP16": "asimdhp",
    "hw.optional.arm.FEAT_FHM": "asimdfhm",
    "hw.optional.arm.FEAT_DotProd": "asimddp",
    "hw.optional.arm.FEAT_I8MM": "i8mm",
    "hw.optional.arm.FEAT_BF16": "bf16",
    "hw.optional.arm.FEAT_SME": "sme",
    "hw.optional.arm.FEAT_SME2": "sme2",
    "hw.optional.sse4_2": "sse4_2",
    "hw.optional.avx1_0": "avx",
    "hw.optional.f16c": "f16c",
    "hw.optional.fma": "fma",
    "hw.optional.avx2_0": "avx2",
    "hw.optional.avx512f": "avx512f",
    "hw.optional.avx512bw": "avx512bw",
    "hw.optional.avx512dq": "avx512dq",
    "hw.optional.avx512vl": "avx512vl",
}


def facts() -> dict[str, str]:
    """Key to value of the groups ``hw`` and ``machdep.cpu``."""
    output = subprocess.run(
        ["/usr/sbin/sysctl", "hw", "machdep.cpu"], capture_output=True, text=True, check=False
    ).stdout
    pairs = (line.partition(": ") for line in output.splitlines())
    return {key: value for key, _, value in pairs}
