"""Dtypes of random keys: identity, names and layout."""

import pickle

import numpy as np
import pytest

from evertrace._src import dtypes
from evertrace._src.dtypes import KeyType, extension


@pytest.mark.parametrize(
    ("impl", "name", "suffix"),
    [
        ("threefry2x32", "key<fry>", (2,)),
        ("rbg", "key<rbg>", (4,)),
        ("unsafe_rbg", "key<urbg>", (4,)),
    ],
)
def test_key_types(impl, name, suffix):
    key = KeyType(impl)
    assert key.name == str(key) == repr(key) == name
    assert key.physical_dtype == np.uint32
    assert key.physical_suffix == suffix
    assert key.itemsize == 4 * suffix[0]
    assert key.type is dtypes.prng_key


def test_key_types_are_values():
    assert KeyType("rbg") == KeyType("rbg")
    assert len({KeyType("rbg"), KeyType("rbg"), KeyType("threefry2x32")}) == 2
    assert pickle.loads(pickle.dumps(KeyType("rbg"))) == KeyType("rbg")
    assert KeyType("rbg") != np.dtype(np.uint32)


def test_unknown_generator():
    with pytest.raises(ValueError, match="no random generator 'threefry2x23'") as caught:
        KeyType("threefry2x23")
    assert "Fix: use 'threefry2x32'." in str(caught.value)


def test_registered_generator(monkeypatch):
    monkeypatch.setattr(extension, "_key_layouts", dict(extension._key_layouts))
    dtypes.register_key_type("mine", "me", (3,))
    assert (KeyType("mine").name, KeyType("mine").itemsize) == ("key<me>", 12)
