"""Packages of Debian for any architecture, fetched and unpacked without root.

APT resolves, fetches and verifies them in folders of its own, from the mirror in this machine's
package sources. Interrupted downloads are resumed.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Environment variable with the address of a mirror, for machines without one in their sources.
MIRROR = "HPCFAIR_DEBIAN_MIRROR"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
#: Releases of Debian. Sources that name another one belong to another distribution.
_RELEASES = {"bookworm", "trixie", "forky", "stable", "testing", "unstable", "sid"}
_TARGETS = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
#: A line of a simulated installation: name, version, architecture.
_INSTALLED = re.compile(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", re.MULTILINE)


class NotAvailable(Exception):
    """The packages are not available on this machine; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Packages of one release and architecture.

    Attributes:
        folder: Folder of APT's lists and the packages; created if it is missing.
    """

    release: str
    architecture: str
    folder: Path

    def fetch(self, packages: Sequence[str], *, dependencies: bool = True) -> list[Path]:
        """Fetch packages, with their dependencies if ``dependencies`` is set; returns their files.

        Raises NotAvailable if APT is missing, or the mirror cannot be reached or lacks a package.
        """
        self._set_up()
        self._apt("update")
        if not dependencies:
            self._apt("download", *packages)
            return [file for name in packages for file in self.folder.glob(f"{name}_*.deb")]
        install = ("install", "--no-install-recommends", "--yes", *packages)
        plan = self._apt(*install, "--simulate")
        self._apt(*install, "--download-only")
        return [self.folder / "archives" / name for name in _names(plan)]

    def _set_up(self) -> None:
        if not _KEYRING.exists():
            raise NotAvailable(
                f"{_KEYRING} is missing, so packages cannot be verified: "
                "apt-get install debian-archive-keyring"
            )
        for name in ("lists/partial", "archives/partial", "parts"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        line = f"deb [signed-by={_KEYRING}] {_mirror()} {self.release} main\n"
        (self.folder / "sources.list").write_text(line)

    def _apt(self, *arguments: str) -> str:
        folder = self.folder
        settings = {
            "APT::Architecture": self.architecture,
            "APT::Architectures": self.architecture,
            # APT's own user could not write to a private folder.
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            "Dir::Cache": str(folder),
            "Dir::Cache::Archives": str(folder / "archives"),
            "Dir::State": str(folder),
            "Dir::State::Lists": str(folder / "lists"),
            "Dir::State::Status": str(folder / "status"),
            "Dir::Etc::SourceList": str(folder / "sources.list"),
            "Dir::Etc::SourceParts": str(folder / "parts"),
            "Debug::NoLocking": "1",
        }
        options = [f"-o{name}={value}" for name, value in settings.items()]
        return _run(["apt-get", "--quiet", *options, *arguments], folder)


def unpack(packages: Sequence[Path], root: Path) -> None:
    """Unpack packages into the folder ``root``; their scripts are not run."""
    for package in packages:
        _run(["dpkg-deb", "--extract", str(package), str(root)], root)


def own_architecture() -> str:
    """Debian's name of this machine's architecture. Raises NotAvailable without dpkg."""
    return _run(["dpkg", "--print-architecture"], Path("/")).strip()


def _names(plan: str) -> list[str]:
    """File names of the packages that a simulated installation lists."""
    return [
        f"{name}_{version.replace(':', '%3a')}_{architecture}.deb"
        for name, version, architecture in _INSTALLED.findall(plan)
    ]


def _mirror() -> str:
    """Address of the mirror from the environment, else from this machine's package sources."""
    if named := os.environ.get(MIRROR):
        return named
    targets = _run(["apt-get", "indextargets", "--format", _TARGETS], Path("/"))
    for line in targets.splitlines():
        address, release, component = line.split(" ")
        if release in _RELEASES and component == "main":
            return address
    raise NotAvailable(
        f"This machine's package sources name no mirror of Debian; set {MIRROR} to one"
    )


def _run(command: Sequence[str], folder: Path) -> str:
    try:
        result = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise NotAvailable(f"{command[0]} is not installed: this needs Debian's APT") from error
    if result.returncode != 0:
        lines = (result.stderr.strip() or result.stdout.strip()).splitlines()
        reasons = [line for line in lines if line.startswith(("E:", "dpkg-deb:"))] or lines[-1:]
        raise NotAvailable(f"{command[0]} failed: {' '.join(reasons)}")
    return result.stdout
