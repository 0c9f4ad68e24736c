"""Throughput of downloads and uploads, compared with nginx and with hardware limits.

``make bench NAME=transfer_bytes [ARGS="--quick"]``. The subjects take turns within each
round, in random order, so that slow phases of the machine affect all of them.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks import downloads, uploads
from benchmarks.report import Figure, counted, environment, report
from benchmarks.scene import Scene, scene
from benchmarks.servers import nginx_version

_PACKAGES = ("Django", "gunicorn", "huggingface_hub", "hf-xet")
_BASELINE = (
    "nginx serving the same files; sendfile over a loopback socket; hf_hub_download; "
    "SHA-256, SHA-1 and a durable write side by side"
)


def main() -> None:
    """Measure and report the figures."""
    options = _options()
    # Paths of this machine are private.
    arguments = {name: value for name, value in vars(options).items() if name != "folder"}
    facts = environment(*_PACKAGES, nginx=nginx_version(), arguments=arguments)
    with (
        tempfile.TemporaryDirectory(prefix="hpcfair-bench-", dir=options.folder) as folder,
        scene(Path(folder), size_mib=options.mib, small=options.small) as prepared,
    ):
        figures = _measure(prepared, options)
    report("transfer_bytes", figures, baseline=_BASELINE, environment=facts)


def _measure(prepared: Scene, options: argparse.Namespace) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    # Memory before the first requests is lower than in use.
    figures |= downloads.first_byte(prepared, options.requests)
    before = prepared.memory_mib()
    figures |= downloads.large(prepared, options.rounds)
    figures |= downloads.small(prepared, options.rounds)
    figures |= downloads.clients(prepared, options.rounds)
    figures |= uploads.large(prepared, options.rounds)
    figures |= uploads.small(prepared, options.rounds)
    figures |= uploads.resend(prepared, options.resend_mib)
    after = prepared.memory_mib()
    figures["memory_growth_mib"] = counted(after - before, "MiB")
    figures["memory_mib"] = counted(after, "MiB")
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256, help="size of the large file")
    parser.add_argument("--small", type=int, default=1000, help="number of small files")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each comparison")
    parser.add_argument(
        "--requests", type=int, default=500, help="requests timed to the first byte"
    )
    parser.add_argument("--resend-mib", type=int, default=1024, help="size of the edited file")
    parser.add_argument("--folder", help="where the hub writes: the disk that is measured")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    if options.quick:
        options.mib, options.small, options.rounds = 16, 50, 2
        options.requests, options.resend_mib = 50, 32
    return options


if __name__ == "__main__":
    main()
