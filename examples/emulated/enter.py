"""Runs commands in a userland, which becomes their root folder, under its emulator.

The kernel starts the emulator for every program of the other architecture, children included
(``binfmt_misc``). The emulator is registered in a user namespace, which ends with the command. So
this needs no root and changes nothing on this machine. It needs Linux 6.7 or newer with
unprivileged user namespaces.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from examples.emulated.debian import NotAvailable
from examples.emulated.machines import MACHINES, EmulatedMachine
from examples.emulated.userland import emulator_of, prepare
from hpcfair.isolation.process import Interpreter

ROOT = Path(__file__).parents[2]
PYTHON = "/usr/bin/python3.11"
#: Enters the root folder in the namespaces and becomes the command. The process keeps its id, so
#: that its parent can send it signals. Arguments: root, rule of binfmt_misc, processor, number of
#: folders to mount, those folders, command. The rule is registered last, since it may match this
#: machine's programs.
_SCRIPT = """
set -eu
# Debian has chroot in these folders, which the PATH of users lacks.
PATH=$PATH:/usr/sbin:/sbin
root=$1 rule=$2 QEMU_CPU=$3 folders=$4
export QEMU_CPU
shift 4
mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
mount --bind "$root" "$root"
for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
mount -t tmpfs tmpfs "$root/tmp"
while [ "$folders" -gt 0 ]; do
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root${1%/*}"; : > "$root$1"; fi
  mount --rbind "$1" "$root$1"
  shift
  folders=$((folders - 1))
done
printf %s "$rule" > /proc/sys/fs/binfmt_misc/register
if [ -d "$root$PWD" ]; then
  exec chroot "$root" /usr/bin/env --chdir="$PWD" "$@"
fi
exec chroot "$root" /usr/bin/env --chdir=/ "$@"
"""
_ET_EXEC, _ET_DYN = 2, 3


def command(name: str, arguments: Sequence[str], folders: Sequence[Path] = ()) -> list[str]:
    """The command that runs ``arguments`` on a machine of :data:`machines.MACHINES`.

    Args:
        folders: Folders and files of this machine that are mounted under the same paths.

    Raises NotAvailable if the packages are not available, or the kernel does not permit it.
    """
    root = prepare(name)
    if reason := obstacle():
        raise NotAvailable(reason)
    machine = MACHINES[name]
    mounted = [str(folder.resolve()) for folder in folders]
    return [
        *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _SCRIPT, "enter"),
        *(str(root), _rule(machine, emulator_of(name)), machine.cpu),
        *(str(len(mounted)), *mounted, *arguments),
    ]


def interpreter(name: str, *folders: Path) -> Interpreter:
    """The Python of a machine, which sees this checkout and ``folders``: children of the engine run
    there. Raises NotAvailable as :func:`command`."""
    run = command(name, [PYTHON], [ROOT, *folders])
    return Interpreter(tuple(run), (ROOT, ROOT / "client"))


@cache
def obstacle() -> str:
    """Why this kernel cannot run commands in a userland; empty if it can."""
    if shutil.which("unshare") is None:
        return "unshare is not installed: apt-get install util-linux"
    test = "mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc"
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", test]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return ""
    return (
        "Programs of another architecture cannot be registered in a user namespace, which needs "
        f"Linux 6.7 (this is {os.uname().release}) and unprivileged user namespaces: "
        f"{result.stderr.strip()}"
    )


def _rule(machine: EmulatedMachine, emulator: Path) -> str:
    """The rule by which the kernel recognises programs of a machine.

    The kernel opens the emulator at once (flag F), since the root folder changes afterwards. The
    ABI byte must be 0. That of the emulator, a static program, is not 0: otherwise it would emulate
    itself if the architecture is that of this machine.
    """
    head = b"\x7fELF\x02\x01\x01\x00" + bytes(8) + bytes((_ET_EXEC, 0, machine.elf, 0))
    mask = b"\xff" * 16 + bytes((0xFF & ~(_ET_EXEC ^ _ET_DYN), 0xFF, 0xFF, 0xFF))
    texts = ["".join(f"\\x{byte:02x}" for byte in part) for part in (head, mask)]
    return f":hpcfair-{machine.qemu}:M:0:{texts[0]}:{texts[1]}:{emulator}:F"
