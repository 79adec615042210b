"""scikit-learn with ``array_api_dispatch``: takes and returns arrays where it does not write."""

import numpy as np
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_squared_error

import evertrace.numpy as jnp

x = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
labels = np.arange(30) % 3

with config_context(array_api_dispatch=True):
    ours = PCA(2, svd_solver="full").fit(jnp.asarray(x))
    theirs = PCA(2, svd_solver="full").fit(x)
    projected = ours.transform(jnp.asarray(x))
    assert isinstance(projected, jnp.ndarray)
    assert isinstance(ours.components_, jnp.ndarray)
    np.testing.assert_allclose(projected, theirs.transform(x), rtol=1e-3, atol=1e-4)
    for metric in (mean_squared_error, mean_absolute_error):
        found = metric(jnp.asarray(x[:, 0]), jnp.asarray(x[:, 1]))
        np.testing.assert_allclose(found, metric(x[:, 0], x[:, 1]), rtol=1e-5)
    assert accuracy_score(jnp.asarray(labels), jnp.asarray(labels)) == 1
