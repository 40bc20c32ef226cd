"""A SLURM of one node, from Debian's packages, that lives in a folder of its own and ends with the block.

    with Cluster(folder) as cluster:
        subprocess.run(["sbatch", ...], env=cluster.environment)

Nothing is written outside the folder. Programs find their configuration through small scripts that
stand first on the PATH, since Snakemake's plugin clears every variable that begins with SLURM.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "squeue", "scancel", "scontrol", "sinfo", "srun", "sacctmgr")
FOLDERS = "/usr/sbin:/usr/local/sbin"

SETTINGS = """\
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=100000
MpiDefault=none
ReturnToService=2
MinJobAge=300
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=64000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# No accounting data base runs here: this answers as sacct would, from what squeue knows; of accounts, none.
SACCT = """\
#!/bin/sh
case "$*" in *JobIdRaw,State*) exec squeue --noheader --states=all --format='%i|%T';; esac
"""


def program(name: str) -> str | None:
    """A daemon's program, also where only root's PATH has it."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), FOLDERS]))


def missing() -> list[str]:
    """What this machine lacks for a cluster."""
    return [name for name in (*DAEMONS, *COMMANDS[:-1]) if program(name) is None]


class Cluster:
    """The three daemons, and the environment in which commands talk to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons: list[subprocess.Popen[bytes]] = []
        for name in ("state", "spool", "bin"):
            (folder / name).mkdir(parents=True)
        self.settings = folder / "slurm.conf"
        host = socket.gethostname().partition(".")[0]
        self.settings.write_text(
            SETTINGS.format(
                folder=folder, host=host, user=getpass.getuser(), ports=_free_ports(), cores=os.cpu_count()
            )
        )
        for name in COMMANDS:
            found = shutil.which(name)
            if found:
                self.script(name, f'#!/bin/sh\nSLURM_CONF={self.settings} exec {found} "$@"\n')
        self.script("sacct", SACCT)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SLURM")},
            "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        }

    def script(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def __enter__(self) -> Cluster:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        named = {
            "key-file": "key",
            "socket": "sock",
            "pid-file": "pid",
            "seed-file": "seed",
            "log-file": "log",
        }
        files = [f"--{option}={self.folder / 'munge'}.{suffix}" for option, suffix in named.items()]
        self.start("munged", "--foreground", "--force", *files)
        self.wait((self.folder / "munge.sock").exists)
        self.start("slurmctld", "-D", "-f", str(self.settings))
        self.start("slurmd", "-D", "-f", str(self.settings))
        self.wait(lambda: "idle" in self.say("sinfo", "--noheader", "--format=%T"))
        return self

    def start(self, name: str, *options: str) -> None:
        with open(self.folder / f"{name}.log", "wb") as log:
            self.daemons.append(
                subprocess.Popen(
                    [str(program(name)), *options],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def say(self, *command: str) -> str:
        """What a command prints, nothing if it fails."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else ""

    def wait(self, ready: object) -> None:
        """Until ready() or half a minute has passed."""
        until = time.monotonic() + 30.0
        while not ready():  # type: ignore[operator]
            assert time.monotonic() < until, self.logs()
            time.sleep(0.1)

    def logs(self) -> str:
        """The ends of the daemons' logs."""
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-2000:]}" for path in logs)

    def __exit__(self, *told: object) -> None:
        self.say("scancel", f"--user={getpass.getuser()}")
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(15)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
