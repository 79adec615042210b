"""The demo's network reaches the same weights however its training is laid out over devices.

Sums over several devices are added up in another order, so weights agree to rounding: after six
steps of Adam, which divides gradients by their size, to some units of the last place of the
largest ones.
"""

import signal

import numpy as np
import pytest

from evertrace.experimental.array_serialization.pytree_serialization import load
from tests.sharding.processes import outcome
from tests.sharding.test_spmd import lines_of
from tests.sharding.trained import farthest

NEAR = 1e-5  # weights are moved by up to 0.004 in a step

LONG = 400  # seconds for XLA to compile, twice, on a machine that does other work

EIGHT = """
import json, sys
import numpy as np
import evertrace as ev
from tests.sharding.trained import Trainer, farthest
start, alone = Trainer().whole(), Trainer().train().whole()
np.savez(sys.argv[1], **alone)
print(json.dumps(["moved", farthest(start, alone)]))
ev.simulate_devices(8)
for way in ("data", "model"):
    for engine in (None, "spmd"):
        trainer = Trainer(way, engine).train()
        found = farthest(trainer.whole(), alone), len(trainer.lies()), len(trainer.losses)
        print(json.dumps([f"{way}, {engine}", found]))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The weights of one device, and what training on eight gives."""
    path = tmp_path_factory.mktemp("alone") / "weights.npz"
    found = lines_of("-c", EIGHT, str(path))
    with np.load(path) as weights:
        return dict(weights), found


@pytest.mark.slow
@pytest.mark.engine
def test_eight_devices_reach_the_weights_of_one(trained):
    _, found = trained
    moved = found.pop("moved")
    assert moved > 0.01
    assert list(found) == ["data, None", "data, spmd", "model, None", "model, spmd"]
    for name, (distance, divided, steps) in found.items():
        assert distance < NEAR, name
        assert divided == (36 if name.startswith("model") else 0), name  # of 39 arrays
        assert steps == 6


TWO = """
from tests.sharding.trained import Trainer
trainer = Trainer(WAY)
first = trainer.resume(FOLDER) if os.path.exists(FOLDER + "/manifest.json") else 0
def after(step):
    trainer.save(FOLDER, step)
    if step == KILLED and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
print(first, text_of(lambda: len(trainer.train(first, after).losses)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["data", "model"])
def test_two_processes_of_which_one_is_killed_reach_the_weights_of_one(tmp_path, trained, way):
    """They are started again, and go on from the checkpoint, in which each has written its part."""
    folder = str(tmp_path / "state")
    code = TWO.replace("WAY", repr(way)).replace("FOLDER", repr(folder))
    codes, texts = outcome(code.replace("KILLED", "3"), seconds=LONG)
    assert codes == [0, -signal.SIGKILL]
    assert texts[0].startswith("0 PeerLostError: ")
    assert "process 1 (pid " in texts[0]
    codes, texts = outcome(code.replace("KILLED", "None"), seconds=LONG)
    assert (codes, texts) == ([0, 0], ["3 3", "3 3"])  # from step 3 on, three more
    alone, _ = trained
    state = load(folder, {"step": None, "arrays": dict.fromkeys(alone)})
    assert int(state["step"]) == 6
    assert farthest({k: np.asarray(x) for k, x in state["arrays"].items()}, alone) < NEAR
