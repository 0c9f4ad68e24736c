"""Writes a file with everything that ``make gpu`` needs on a machine with a GPU but no network.

``make gpu-bundle [ARGS="--python 3.12"]`` writes ``hpcfair-gpu.tar``::

    hpcfair-gpu/
      ...              the committed files of this checkout
      wheels/          Python packages for x86-64, with NVIDIA's libraries
      .bench/models/   the networks of the benchmark
      MANIFEST.json    SHA-256 of every other file by path, and the commit

On that machine: ``tar xf hpcfair-gpu.tar && cd hpcfair-gpu && make gpu``. The machine needs Python,
make and NVIDIA's driver.
"""

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks import requirements
from benchmarks.networks import example
from benchmarks.report import commit, say
from benchmarks.requirements import ROOT
from benchmarks.served import MODELS

NAME, WHEELS, MANIFEST = "hpcfair-gpu", "wheels", "MANIFEST.json"
_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (36, 35, 34, 31, 28, 27, 26, 24, 17, 12)]
_CHUNK = 2**20


def write_bundle(out: Path, parts: Iterable[tuple[str, bytes | Path]], *, of: str) -> int:
    """Write the file ``out`` of named parts, with their manifest at the end; returns their number.

    Args:
        parts: Path inside the bundle, and the content as bytes or as a file.
        of: Id of the commit.
    """
    digests: dict[str, str] = {}
    draft = out.with_suffix(".draft")
    with tarfile.open(draft, "w") as bundle:
        for name, content in parts:
            digests[name] = _add(bundle, name, content)
        manifest = {"commit": of, "files": dict(sorted(digests.items()))}
        _add(bundle, MANIFEST, json.dumps(manifest, indent=1).encode())
    draft.rename(out)
    return len(digests)


def verify(folder: Path) -> list[str]:
    """Files of an unpacked bundle that are missing or differ from its manifest; empty if it is
    intact, or if ``folder`` is not a bundle."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        return []
    files: dict[str, str] = json.loads(manifest.read_text())["files"]
    return [
        name
        for name, digest in files.items()
        if not (folder / name).is_file() or _sha256(folder / name) != digest
    ]


def main() -> None:
    """Write the bundle that the command line describes."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder, WHEELS)
        say("fetching Python packages: gigabytes")
        _fetch_wheels(wheels, options.python)
        for name in MODELS:
            example(name, options.cache)
        parts: list[tuple[str, bytes | Path]] = [
            *_committed(),
            *((f"{WHEELS}/{file.name}", file) for file in sorted(wheels.iterdir())),
            *_models(options.cache),
        ]
        number = write_bundle(options.out, parts, of=commit())
    gigabytes = options.out.stat().st_size / 1e9
    say(f"{options.out}: {number} files, {gigabytes:.1f} GB")


def _committed() -> Iterator[tuple[str, bytes]]:
    """Files of the commit that is checked out."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", "HEAD"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


def _models(cache: Path) -> Iterator[tuple[str, Path]]:
    for name in MODELS:
        folder = cache / "models" / name
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            yield f".bench/models/{name}/{file.relative_to(folder)}", file


def _fetch_wheels(folder: Path, python: str) -> None:
    version = python.replace(".", "")
    command = [
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"),
        *("--dest", str(folder), "--only-binary", ":all:", "--python-version", python),
        *("--implementation", "cp", "--abi", f"cp{version}", "--abi", "abi3", "--abi", "none"),
        *(f"--platform={platform}" for platform in _PLATFORMS),
        *("--constraint", str(ROOT / "constraints.txt"), *requirements.gpu()),
    ]
    subprocess.run(command, check=True)


def _add(bundle: tarfile.TarFile, name: str, content: bytes | Path) -> str:
    """Add a file; returns its SHA-256."""
    entry = tarfile.TarInfo(f"{NAME}/{name}")
    entry.mode = 0o755 if name.endswith(".sh") or name.startswith(".ci/") else 0o644
    if isinstance(content, bytes):
        entry.size = len(content)
        bundle.addfile(entry, io.BytesIO(content))
        return hashlib.sha256(content).hexdigest()
    entry.size = content.stat().st_size
    with content.open("rb") as file:
        bundle.addfile(entry, file)
    return _sha256(content)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(f"{NAME}.tar"))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    parser.add_argument("--python", default=version, help="version on the other machine")
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="of the models")
    return parser.parse_args()


if __name__ == "__main__":
    main()
