"""A cluster of one node: a real Slurm, configured in a folder, without root and without munge."""

import getpass
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ports import reserved_ports
from tests.programs import path_of

_NODE = "node1"
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ctld_port}
SlurmdPort={d_port}
AuthType=auth/none
CredType=cred/none
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
KillWait=60
ReturnToService=2
SchedulerParameters=sched_interval=1
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={node} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes={node} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


@dataclass(frozen=True)
class SlurmCluster:
    """A running cluster; ``environment`` is what its commands and jobs need."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *command: str) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def submit(self, script: Path, *options: str) -> str:
        """The id of a job that runs a script."""
        return self.run("sbatch", "--parsable", *options, str(script))

    def state(self, job: str) -> str:
        """The state of a job, such as ``RUNNING``."""
        shown = self.run("scontrol", "--oneliner", "show", "job", job)
        match = re.search(r"JobState=(\w+)", shown)
        assert match, shown
        return match[1]


@contextmanager
def slurm_cluster(folder: Path) -> Iterator[SlurmCluster]:
    """A cluster during the block."""
    controller = Path(path_of("slurm")).resolve()
    root = controller.parents[1]
    (plugins,) = (*root.glob("lib/*/slurm-wlm"), *root.glob("lib/slurm"))
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    with reserved_ports(2) as (ctld_port, d_port):
        configuration = _CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            user=getpass.getuser(),
            ctld_port=ctld_port,
            d_port=d_port,
            plugins=plugins,
            folder=folder,
            node=_NODE,
            cpus=os.cpu_count(),
        )
    (folder / "slurm.conf").write_text(configuration)
    environment = os.environ | {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": os.pathsep.join((str(root / "bin"), str(root / "sbin"), os.environ["PATH"])),
    }
    if root != Path("/usr"):
        # Libraries of packages that are unpacked and not installed. Those of the system must not
        # stand before the libraries of the Python that runs the jobs.
        environment["LD_LIBRARY_PATH"] = os.pathsep.join((str(plugins), str(plugins.parent)))
    suffix = controller.name.removeprefix("slurmctld")
    daemons = [
        [str(controller), "-D", "-i"],
        [
            *(str(controller.with_name(f"slurmd{suffix}")), "-D", "-N", _NODE),
            *("-d", str(controller.with_name(f"slurmstepd{suffix}"))),
        ],
    ]
    with ExitStack() as running:
        for command in daemons:
            log = running.enter_context((folder / "daemons.log").open("ab"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            running.callback(process.wait)
            running.callback(process.kill)
        cluster = SlurmCluster(folder, environment)
        _wait_for_node(cluster)
        try:
            yield cluster
        finally:
            subprocess.run(
                ["scancel", "--user", getpass.getuser(), "--signal=KILL", "--full"],
                env=environment,
                check=False,
                timeout=60,
            )


def _wait_for_node(cluster: SlurmCluster) -> None:
    deadline = time.monotonic() + 120
    while True:
        done = subprocess.run(
            ["sinfo", "--noheader", "--format", "%T"],
            env=cluster.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.stdout.strip() == "idle":
            return
        assert time.monotonic() < deadline, f"{done.stdout}{done.stderr}"
        time.sleep(0.5)
