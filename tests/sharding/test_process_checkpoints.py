"""Checkpoints of arrays that are divided over processes."""

import pytest

from tests.sharding.processes import outcome

PRELUDE = """
from evertrace.experimental.array_serialization.pytree_serialization import load, save
from evertrace.experimental.array_serialization import pytree_serialization
from evertrace import random
folder = FOLDER
def state(scale):
    values = scale * np.arange(24.0).reshape(12, 2)
    x = ev.make_array_from_callback((12, 2), rows, lambda i: values[i])
    keys = ev.jit(lambda k: random.split(k, 12), out_shardings=rows)(random.key(0))
    return {"x": x, "w": ev.device_put(jnp.ones(3), whole), "step": 7 * scale, "keys": keys}
def facts(tree):
    whole_x = ev.jit(lambda x: x * 1, out_shardings=whole)(tree["x"])
    words = ev.jit(lambda k: random.key_data(k).sum(), out_shardings=whole)(tree["keys"])
    return float(np.asarray(whole_x)[11, 1]), tree["w"].tolist(), int(tree["step"]), int(words)
wanted = {"x": rows, "w": whole, "step": None, "keys": rows}
"""
SAVE = "save(state(1), folder)\nprint(facts(state(1)))"
LOAD = "t = load(folder, wanted)\nprint(facts(t), t['x'].sharding == rows)"


def printed(tmp_path, code, count):
    """Return what each of so many processes prints."""
    prelude = PRELUDE.replace("FOLDER", repr(str(tmp_path)))
    codes, texts = outcome(prelude + code, count)
    assert codes == [0] * count
    return texts


@pytest.mark.slow
@pytest.mark.parametrize(("writers", "readers"), [(2, 3), (3, 1)])
def test_any_number_of_processes_reads_what_another_has_written(tmp_path, writers, readers):
    (written,) = {*printed(tmp_path, SAVE, writers)}
    (read,) = {*printed(tmp_path, LOAD, readers)}
    assert read == f"{written} True"
    files = sorted(x.name for x in tmp_path.rglob("*.safetensors"))
    assert files == [f"{i:05}.safetensors" for i in range(writers)]


@pytest.mark.slow
def test_who_is_killed_while_saving_leaves_the_checkpoint_before(tmp_path):
    code = """
save(state(1), folder)
if rank == 1:
    from evertrace._src.experimental import checkpoints
    checkpoints.write = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
print(text_of(save, state(2), folder))
"""
    prelude = PRELUDE.replace("FOLDER", repr(str(tmp_path)))
    codes, texts = outcome(prelude + code, 2)
    assert codes == [0, -9]
    assert texts[0].startswith("PeerLostError: save: process 1 (pid ")
    (read,) = printed(tmp_path, LOAD, 1)
    assert read.startswith("(23.0, [1.0, 1.0, 1.0], 7, ")


@pytest.mark.slow
def test_who_cannot_write_is_named_in_all(tmp_path):
    code = """
if rank == 1:
    from evertrace._src.experimental import checkpoints
    def full(*args): raise OSError(28, "No space left on device")
    checkpoints.write = full
print(text_of(save, state(2), folder))
"""
    texts = printed(tmp_path, code, 2)
    assert texts == [
        "OSError: save: process 1 has failed: OSError: [Errno 28] No space left on device",
        "OSError: [Errno 28] No space left on device",
    ]
