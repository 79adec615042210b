"""What schedulers of clusters tell each process of the others, in its environment."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_PORTS = 4096  # the last ones, of which a job has one by its number


class Cluster(NamedTuple):
    """What `distributed.initialize` is to be told."""

    coordinator_address: str
    num_processes: str
    process_id: str


def slurm(environ: Mapping[str, str]) -> Cluster | None:
    """Return what SLURM says to a process that `srun` has started, or None to others.

    Processes of one step find the same: the first machine of the step, and a port by the number
    of the job, so that jobs that share a machine do not meet.
    """
    job, nodes = environ.get("SLURM_JOB_ID", ""), environ.get("SLURM_STEP_NODELIST", "")
    count, index = environ.get("SLURM_NTASKS", ""), environ.get("SLURM_PROCID", "")
    if not (job.isdigit() and nodes and count and index):
        return None
    return Cluster(f"{first_node(nodes)}:{_port(int(job))}", count, index)


def first_node(nodes: str) -> str:
    """Return the first name of a list such as ``"rack[2-3]n[001,004-007],login"``."""
    match = re.match(r"(?:\[[^\]]*\]|[^,\[])+", nodes)
    first = match[0] if match else nodes
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first)


def ompi(environ: Mapping[str, str]) -> Cluster | None:
    """Return what Open MPI says to a process that `mpirun` has started, or None to others.

    The first process is on the machine of `mpirun`, of which all are told an address, such as
    ``"1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"``; the port is by the number of the job.
    """
    uri = environ.get("OMPI_MCA_orte_hnp_uri", "")
    count, index = environ.get("OMPI_COMM_WORLD_SIZE", ""), environ.get("OMPI_COMM_WORLD_RANK", "")
    found = re.match(r"(\d+)\.\d+;(?:tcp://([^,:]+)|tcp6://(\[[^,\]]+))", uri)
    if not (found and count and index):
        return None
    host = found[2] or f"{found[3]}]"
    # The numbers of jobs are multiples of 4096.
    return Cluster(f"{host}:{_port(int(found[1]) // _PORTS)}", count, index)


def k8s(environ: Mapping[str, str]) -> Cluster | None:
    """Return what Kubernetes says to a pod of an indexed job, or None to others.

    Pods are named ``<job>-<index>``. How many there are no variable of Kubernetes' own says, nor
    the service by which they find each other: ``JOB_COMPLETIONS``, and ``JOB_SERVICE`` where it has
    another name than the job, are for the job to set.
    """
    index, count = environ.get("JOB_COMPLETION_INDEX", ""), environ.get("JOB_COMPLETIONS", "")
    host = environ.get("HOSTNAME", "")
    found = re.fullmatch(rf"(.+)-{re.escape(index)}(?:-[a-z0-9]{{5}})?", host)
    if not (environ.get("KUBERNETES_SERVICE_HOST") and index and count and found):
        return None
    service = environ.get("JOB_SERVICE") or found[1]
    return Cluster(f"{found[1]}-0.{service}:{_port(0)}", count, index)


def _port(number: int) -> int:
    return 65536 - _PORTS + number % _PORTS


METHODS = {"slurm": slurm, "ompi": ompi, "k8s": k8s}
"""The names that `initialize` takes for `cluster_detection_method`."""
