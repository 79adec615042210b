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
    port = 65536 - _PORTS + int(job) % _PORTS
    return Cluster(f"{first_node(nodes)}:{port}", count, index)


def first_node(nodes: str) -> str:
    """Return the first name of a list such as ``"rack[2-3]n[001,004-007],login"``."""
    match = re.match(r"(?:\[[^\]]*\]|[^,\[])+", nodes)
    first = match[0] if match else nodes
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first)


METHODS = {"slurm": slurm}
"""The names that `initialize` takes for `cluster_detection_method`."""
