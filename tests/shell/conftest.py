"""A one-node SLURM of the tests' own, for the tests of slurm.pl."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

CONF = """
ClusterName=tests
SlurmctldHost={host}
SlurmctldPort={port}
SlurmdPort={port1}
AuthType=auth/munge
AuthInfo=socket={tmp}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
StateSaveLocation={tmp}/state
SlurmdSpoolDir={tmp}/spool
SlurmctldPidFile={tmp}/ctld.pid
SlurmdPidFile={tmp}/slurmd.pid
SlurmctldLogFile={tmp}/ctld.log
SlurmdLogFile={tmp}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
NodeName={host} CPUs={cpus} RealMemory=1500 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
"""


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """Return the environment in which sbatch and squeue speak to a SLURM that runs for these tests."""
    programs = ("munged", "slurmctld", "slurmd", "sbatch")
    missing = [p for p in programs if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing or os.geteuid() != 0:
        pytest.skip("needs Debian's slurm-wlm and munge, and root")
    tmp = tmp_path_factory.mktemp("slurm")
    started = []
    try:
        yield _start(tmp, started)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=20)


def _start(tmp, started):
    for name in ("state", "spool"):
        (tmp / name).mkdir()
    _start_munge(tmp, started)
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    host = socket.gethostname().split(".")[0]
    conf = tmp / "slurm.conf"
    conf.write_text(CONF.format(host=host, port=port, port1=port + 1, tmp=tmp, cpus=len(os.sched_getaffinity(0))))
    env = dict(os.environ, SLURM_CONF=str(conf), PATH=os.environ["PATH"] + ":/usr/sbin")
    for command in (["slurmctld", "-D"], ["slurmd", "-D", "-N", host]):
        started.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    deadline = time.time() + 30
    while "idle" not in subprocess.run(["sinfo", "-h", "-o", "%T"], env=env, capture_output=True, text=True).stdout:
        if time.time() > deadline:
            pytest.skip(f"SLURM does not start here: {(tmp / 'slurmd.log').read_text()[-300:]}")
        time.sleep(0.2)
    return env


def _start_munge(tmp, started):
    """munged insists on directories that nobody else can write, up to the root, unless it is forced."""
    key = tmp / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    tmp.chmod(0o755)
    command = ["munged", "--foreground", "--force", f"--socket={tmp}/munge.socket", f"--key-file={key}"]
    command += [f"--pid-file={tmp}/munge.pid", f"--log-file={tmp}/munge.log", f"--seed-file={tmp}/munge.seed"]
    env = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin")
    started.append(subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL))
    deadline = time.time() + 10
    while not Path(tmp, "munge.socket").exists() and time.time() < deadline:
        time.sleep(0.1)
