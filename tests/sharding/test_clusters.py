"""What `distributed.initialize` finds in the environment of a process that a scheduler starts."""

import types

import pytest

import evertrace as ev
from evertrace._src.engines import runtime
from evertrace._src.sharding.clusters import first_node

JOB = {
    "SLURM_JOB_ID": "8193",
    "SLURM_STEP_NODELIST": "gpu[012-015]",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "3",
}
FOUND = "gpu012:61441", 4, 3
MPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_RANK": "5",
}
PORT = 61440 + 1531576320 // 4096 % 4096
SIXTH = "1314521088.0;tcp6://[fe80::b9b:ac5d:9cf0:b858,2620:10d:c083:150e::3000:2]:43370"
POD = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "JOB_COMPLETION_INDEX": "2",
    "JOB_COMPLETIONS": "4",
    "HOSTNAME": "train-2",
}


@pytest.mark.parametrize(
    ("nodes", "want"),
    [
        ("login", "login"),
        ("a1,a2", "a1"),
        ("node[001-011,020]", "node001"),
        ("node[7,9].site", "node7.site"),
        ("rack[2-3]n[01,04-07],login", "rack2n01"),
        ("x-ray-1,b", "x-ray-1"),
    ],
)
def test_the_first_machine_of_a_list(nodes, want):
    assert first_node(nodes) == want


@pytest.fixture
def joined(monkeypatch):
    """Let `initialize` join nobody; returns what it has been told."""
    found = []
    processes = types.SimpleNamespace(
        join=lambda *facts: found.append(facts[:3]), leave=lambda: None, membership=lambda: None
    )
    monkeypatch.setattr(runtime, "is_open", lambda: False)
    monkeypatch.setattr(runtime, "processes", lambda: processes)
    for name in ("COORDINATOR_ADDRESS", "NUM_PROCESSES", "PROCESS_ID"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"JAX_{name}", raising=False)
    for name in (*JOB, *MPI, *POD, "JOB_SERVICE"):
        monkeypatch.delenv(name, raising=False)
    yield found
    ev.distributed.shutdown()


# name: (the environment, what is passed, what is found)
CASES = {
    "nothing": ({}, {}, None),
    "a job": (JOB, {}, FOUND),
    "a job that is asked for": (JOB, {"cluster_detection_method": "slurm"}, FOUND),
    "a job that is not asked for": (JOB, {"cluster_detection_method": "deactivate"}, None),
    "an allocation without a step": ({**JOB, "SLURM_STEP_NODELIST": ""}, {}, None),
    "one process": ({**JOB, "SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, {}, None),
    "mpirun": (MPI, {}, (f"10.96.0.1:{PORT}", 8, 5)),
    "mpirun that is asked for": (
        {**JOB, **MPI},
        {"cluster_detection_method": "ompi"},
        (f"10.96.0.1:{PORT}", 8, 5),
    ),
    "mpirun by IPv6": (
        {**MPI, "OMPI_MCA_orte_hnp_uri": SIXTH},
        {},
        (f"[fe80::b9b:ac5d:9cf0:b858]:{61440 + 1314521088 // 4096 % 4096}", 8, 5),
    ),
    "mpirun within a job of SLURM": ({**JOB, **MPI}, {}, FOUND),
    "an address of mpirun that nobody can read": (
        {**MPI, "OMPI_MCA_orte_hnp_uri": "1531576320.0;usock"},
        {},
        None,
    ),
    "a pod": (POD, {}, ("train-0.train:61440", 4, 2)),
    "a pod behind a service": (
        {**POD, "JOB_SERVICE": "peers", "HOSTNAME": "train-2-x7k2p"},
        {"cluster_detection_method": "k8s"},
        ("train-0.peers:61440", 4, 2),
    ),
    "a pod of a job that does not say how many": ({**POD, "JOB_COMPLETIONS": ""}, {}, None),
    "a pod of another name": ({**POD, "HOSTNAME": "login"}, {}, None),
    "another address": (JOB, {"coordinator_address": "a:1"}, ("a:1", 4, 3)),
    "a launcher inside of a job": (
        {**JOB, "JAX_COORDINATOR_ADDRESS": "b:2", "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "0"},
        {},
        ("b:2", 2, 0),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_found(name, joined, monkeypatch):
    environ, passed, want = CASES[name]
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    ev.distributed.initialize(**passed)
    assert joined == ([] if want is None else [want])


def test_what_is_asked_for_has_to_be_there(joined):
    with pytest.raises(ValueError, match="the environment says nothing of slurm"):
        ev.distributed.initialize(cluster_detection_method="slurm")
    with pytest.raises(ValueError, match="the environment says nothing of k8s"):
        ev.distributed.initialize(cluster_detection_method="k8s")
    with pytest.raises(NotImplementedError, match="cluster_detection_method"):
        ev.distributed.initialize(cluster_detection_method="cloud")
    assert not ev.distributed.is_initialized()
    assert joined == []
