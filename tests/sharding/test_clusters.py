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
    for name in JOB:
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
    with pytest.raises(NotImplementedError, match="cluster_detection_method"):
        ev.distributed.initialize(cluster_detection_method="k8s")
    assert not ev.distributed.is_initialized()
    assert joined == []
