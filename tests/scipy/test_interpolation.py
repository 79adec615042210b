"""Interpolation on grids and in images, vector quantisation, compared with SciPy."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
import scipy.ndimage

import evertrace as ev
import evertrace.numpy as jnp
from evertrace.scipy import cluster, ndimage
from evertrace.scipy.interpolate import RegularGridInterpolator
from tests.support.gradcheck import check_grads

RNG = np.random.default_rng(0)
GRID = (np.array([1.0, 2.0, 4.0]), np.array([0.0, 3.0, 3.5, 6.0]))
VALUES = RNG.standard_normal((3, 4, 2))
INSIDE = RNG.uniform((1, 0), (4, 6), (7, 2))
OUTSIDE = np.array([[0.0, 1.0], [2.0, 7.0]])


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, 2.5, None])
def test_grids_agree_with_scipy(method, fill):
    places = np.concatenate([INSIDE, OUTSIDE])
    options = {"method": method, "fill_value": fill, "bounds_error": False}
    want = scipy.interpolate.RegularGridInterpolator(GRID, VALUES, **options)(places)
    with ev.enable_x64():
        found = RegularGridInterpolator(GRID, VALUES, **options)(places)
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_grids_are_differentiated_by_values_and_places():
    check_grads(lambda v, x: RegularGridInterpolator(GRID, v)(x), [VALUES, INSIDE], order=1)


GRID_ERRORS = [
    ((GRID, VALUES[:2]), {}, "do not match values"),
    ((GRID[::-1], VALUES), {}, "do not match values"),
    (((GRID[0][::-1], GRID[1]), VALUES), {}, "the coordinates of axis 0 do not increase"),
    ((GRID, VALUES), {"method": "cubic"}, "there is no method 'cubic'"),
    ((GRID, VALUES), {"fill_value": 1j}, "fill_value 1j is complex"),
]


@pytest.mark.parametrize(("args", "kwargs", "text"), GRID_ERRORS)
def test_errors_of_grids(args, kwargs, text):
    with pytest.raises(ValueError, match=text):
        RegularGridInterpolator(*args, **kwargs)


def test_a_grid_cannot_be_changed():
    function = RegularGridInterpolator(GRID, VALUES)
    with pytest.raises(AttributeError, match="values cannot be changed"):
        function.values = 2 * VALUES


def test_errors_of_places():
    function = RegularGridInterpolator(GRID, VALUES, bounds_error=True)
    with pytest.raises(ValueError, match="some places are outside of the grid"):
        function(OUTSIDE)
    with pytest.raises(ValueError, match="do not have the 2 coordinates"):
        function(np.ones((2, 3)))


IMAGE = RNG.standard_normal((4, 5))
PLACES = RNG.uniform(-9, 12, (2, 30))
NAMES = {"constant": "grid-constant", "wrap": "grid-wrap"}  # ours -> SciPy's


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_images_agree_with_scipy(order, mode):
    want = scipy.ndimage.map_coordinates(IMAGE, PLACES, order=order, mode=NAMES.get(mode, mode))
    with ev.enable_x64():
        found = ndimage.map_coordinates(IMAGE, PLACES, order, mode)
    np.testing.assert_allclose(found, want, atol=1e-12)


@pytest.mark.parametrize("mode", ["constant", "mirror"])
def test_images_are_differentiated(mode):
    check_grads(
        lambda image, places: ndimage.map_coordinates(image, places, 1, mode),
        [IMAGE, PLACES],
        order=1,
    )


def test_integers_are_rounded():
    found = ndimage.map_coordinates(jnp.array([0, 10, 25]), [jnp.array([0.26, 1.5])], 1)
    assert (found.dtype, found.tolist()) == (np.int32, [3, 18])


def test_errors_of_images():
    with pytest.raises(NotImplementedError, match="no order 3 with mode 'constant'"):
        ndimage.map_coordinates(IMAGE, PLACES, 3)
    with pytest.raises(NotImplementedError, match="no order 1 with mode 'grid-wrap'"):
        ndimage.map_coordinates(IMAGE, PLACES, 1, "grid-wrap")
    with pytest.raises(ValueError, match="one array of coordinates per axis"):
        ndimage.map_coordinates(IMAGE, PLACES[:1], 1)


@pytest.mark.parametrize("shape", [(20, 3), (20,)])
def test_codes_agree_with_scipy(shape):
    obs, codes = RNG.standard_normal(shape), RNG.standard_normal((5, *shape[1:]))
    want = scipy.cluster.vq.vq(obs, codes)
    with ev.enable_x64():
        found = cluster.vq.vq(obs, codes)
    np.testing.assert_array_equal(found[0], want[0])
    np.testing.assert_allclose(found[1], want[1], rtol=1e-12)


def test_errors_of_codes():
    with pytest.raises(ValueError, match=r"got \(2, 3\) and \(2, 4\)"):
        cluster.vq.vq(jnp.ones((2, 3)), jnp.ones((2, 4)))
