"""Functions in C++ are within 2 units in the last place, everywhere, for all instructions.

The oracle is the C library in more precision: double for float32, 80 bits for float64. Of the error
functions a table has values that mpmath computed.
"""

import math
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import scipy.special

from evertrace._src import extension, kernels
from tests.support.closeness import assert_same

pytestmark = pytest.mark.usefixtures("needs_native")

TARGETS = ["baseline", "avx2", "avx512"]
MOST = 2.0  # units in the last place
DOUBLES = np.finfo(np.longdouble).nmant >= 63  # elsewhere float64 has no oracle


@pytest.fixture(params=TARGETS)
def instructions(request):
    """Run a test with the loops of one set of instructions."""
    if not extension.native.use_loops_for(request.param):
        pytest.skip("the processor lacks these instructions")
    yield request.param
    for best in TARGETS:
        extension.native.use_loops_for(best)


def loop(name, *operands):
    """Return what a loop makes of its operands."""
    out = np.empty(np.broadcast_shapes(*[x.shape for x in operands]), operands[0].dtype)
    assert kernels.loop(name, operands, out, 0)
    return out


def logistic(x):
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


ONE = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "logistic": logistic, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
TWO = {"atan2": np.arctan2, "pow": np.power}


def samples(dtype, seed=1):
    """Return numbers of all sizes, dense ones where functions bend, edges and random bits."""
    rng = np.random.default_rng(seed)
    size, info = dtype.itemsize, np.finfo(dtype)
    edges = [0.0, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, 1.0, 0.5, 2.0]
    edges += [1 + info.eps, 1 - info.epsneg, 1 - info.eps]
    edges += [k * math.pi / 4 for k in (*range(1, 40), 1000, 10**6, 10**9, 10**15)]
    edges += [math.log(float(info.max)), -math.log(float(info.smallest_subnormal)), math.log(2) / 2]
    edges += [2.0**k for k in (-60, -30, -27, -12, 20, 30, 40, 60, 100)] + [127.5, 128, 149.5, 1024]
    edges += [1 - k * info.eps for k in range(2, 12)]
    # Where functions go over to other formulas.
    edges += [22.0, 86, 87, 1e19, 1e30] if size == 4 else [22.0, 707, 708, 1e154, 1e300]
    near = np.array(edges, dtype)
    near = np.concatenate([near, np.nextafter(near, dtype.type(0)), np.nextafter(near, info.max)])
    parts = [
        near,
        rng.integers(0, 256, (1500, size), np.uint8).view(dtype).ravel(),
        rng.normal(size=1500),
        rng.uniform(-1.2, 1.2, 1000),
        rng.uniform(-20, 20, 1500),
        rng.uniform(-110 if size == 4 else -760, 110 if size == 4 else 760, 1500),
        rng.uniform(-1e5, 1e5, 1000),
        1 + rng.normal(size=1000) * 1e-3,
        np.exp(rng.uniform(-60, 5, 2000)),
    ]
    with np.errstate(all="ignore"):
        x = np.concatenate([part.astype(dtype) for part in parts])
    x[np.isnan(x)] = np.nan  # none that signals
    return np.concatenate([x, -x])


def errors(got, want):
    """Return distances in units in the last place; inf where numbers are of other kinds.

    Args:
      got: floats.
      want: in more precision.
    """
    with np.errstate(all="ignore"):
        nearest = want.astype(got.dtype)
        unit = np.spacing(np.where(np.isfinite(nearest), np.abs(nearest), got.dtype.type(1)))
        distance = np.abs(got.astype(want.dtype) - want) / unit
        # A number that rounds to infinity is one unit below it at least.
        top = np.finfo(got.dtype).max
        distance = np.where(np.isinf(nearest) & (got == np.copysign(top, nearest)), 1, distance)
        distance = np.where(np.isfinite(nearest) & np.isinf(got), np.inf, distance)
        same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
        distance = np.where(
            same, np.minimum(np.nan_to_num(distance, nan=0, posinf=0), 0.5), distance
        )
        zero = nearest == 0
        signs = (np.signbit(got) != np.signbit(nearest)) & ~np.isnan(nearest)
        return np.where((zero & signs) | np.isnan(distance), np.inf, distance)


def check(name, got, want, *operands):
    error = errors(got, want)
    worst = int(np.argmax(error))
    at = ", ".join(repr(x[worst] if x.ndim else x[()]) for x in operands)
    assert error[worst] <= MOST, (
        f"{name}({at}) is {got[worst]!r}, not {want[worst]!r}: {error[worst]:.3g} units; "
        f"{np.sum(error > MOST)} values of {error.size}"
    )


def dtypes_tested():
    return [np.dtype(t) for t in ([np.float32, np.float64] if DOUBLES else [np.float32])]


def wide(x):
    return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


def scipy_digamma(x):
    """Return NaN at all poles."""
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, scipy.special.psi(x))


def scipy_lgamma(x):
    """Return inf at -inf."""
    return np.where(np.isinf(x), np.inf, scipy.special.gammaln(x))


GAMMA = {"lgamma": scipy_lgamma, "digamma": scipy_digamma}


@pytest.mark.parametrize("name", GAMMA)
def test_the_gamma_function(name):
    x = samples(np.dtype(np.float32))
    with np.errstate(all="ignore"):
        check(name, loop(name, x), GAMMA[name](wide(x)), x)
        y = np.concatenate([np.linspace(2.5, 40, 2000), np.geomspace(41, 1e300, 500)])
        np.testing.assert_allclose(loop(name, y), GAMMA[name](y), 2e-15)


@pytest.mark.parametrize("dtype", dtypes_tested(), ids=str)
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(instructions, name, dtype):
    x = samples(dtype)
    with np.errstate(all="ignore"):
        check(name, loop(name, x), ONE[name](wide(x)), x)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_angles(instructions, name):
    # Where a float comes nearest to a multiple of pi / 2, and where formulas change.
    rng = np.random.default_rng(4)
    nearest = np.ldexp(np.float32(16367173), [*range(-23, 104)]).astype(np.float32)
    near = np.float32(8192) + np.arange(-50, 50, dtype=np.float32) * np.float32(2**-10)
    drawn = rng.integers(8192, 2**24, 20000) * np.exp2(rng.integers(0, 104, 20000))
    turns = np.rint(rng.uniform(0, 1e7, 20000)) * (math.pi / 2)
    x = np.concatenate([nearest, near, drawn, turns]).astype(np.float32)
    x = np.concatenate([x, -x])
    check(name, loop(name, x), ONE[name](wide(x)), x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact(instructions, dtype):
    # Quotients of all sizes, near whole numbers and not.
    rng = np.random.default_rng(5)
    info = np.finfo(dtype)
    y = np.exp2(rng.uniform(-60, 60, 5000)).astype(dtype)
    whole = np.exp2(rng.uniform(-3, info.nmant + 4, 5000)).round().astype(dtype)
    x = np.concatenate([y * whole, y * rng.uniform(0, 1e4, 5000).astype(dtype)])
    x = np.concatenate([x, np.nextafter(x, x.dtype.type(0)), np.nextafter(x, info.max)])
    y = np.tile(y, 6)
    tiny = info.smallest_subnormal * rng.integers(1, 1000, (2, 500)).astype(dtype)
    x, y = np.concatenate([x, tiny[0]]), np.concatenate([y, tiny[1]])
    for a, b in ((x, y), (-x, y), (x, -y)):
        assert_same(loop("rem", a, b), np.fmod(a, b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*ONE, *TWO, "rem"])
def test_results_do_not_depend_on_neighbours(instructions, name, dtype):
    # Blocks with extreme arguments take another path than those without.
    x = samples(np.dtype(dtype))
    order = np.random.default_rng(2).permutation(x.size)
    operands = (x,) if name in ONE else (x, x[::-1].copy())
    shuffled = loop(name, *[operand[order] for operand in operands])
    assert_same(shuffled, loop(name, *operands)[order])


@pytest.mark.parametrize("dtype", dtypes_tested(), ids=str)
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(instructions, name, dtype):
    x = samples(dtype)
    rng = np.random.default_rng(3)
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, 3, -2, -3, 0.5, -0.5], dtype)
    pairs = [a.ravel() for a in np.meshgrid(special, special)]
    y = rng.permutation(x)
    z = np.concatenate([y, rng.uniform(-30, 30, x.size).astype(dtype), pairs[1]])
    x = np.concatenate([x, np.abs(x), pairs[0]])
    with np.errstate(all="ignore"):
        check(name, loop(name, x, z), TWO[name](wide(x), wide(z)), x, z)
        whole = np.round(z)
        check(name, loop(name, x, whole), TWO[name](wide(x), wide(whole)), x, whole)
        for scalar in (z[5:6], np.array([3], dtype), np.array([-2.5], dtype)):
            check(name, loop(name, x, scalar), TWO[name](wide(x), wide(scalar)), x, scalar[0])
            check(name, loop(name, scalar, x), TWO[name](wide(scalar), wide(x)), scalar[0], x)


# Arguments are floats of 32 bits.
ERROR_FUNCTIONS = {
    "erf": [
        (1.0000000031710769e-30, "1.128379170673689629790735e-30"),
        (9.999999747378752e-06, "0.00001128379138552644555834122"),
        (0.009999999776482582, "0.01128341530366243904406401"),
        (0.30000001192092896, "0.3286267717527154213905186"),
        (0.5, "0.5204998778130465376827467"),
        (0.800000011920929, "0.7421009718004437057816442"),
        (0.8740000128746033, "0.7835498635375543246040157"),
        (0.8759999871253967, "0.7845993403022059585484737"),
        (0.8999999761581421, "0.796908200454968449313788"),
        (1.0, "0.8427007929497148693412206"),
        (1.5, "0.9661051464753107270669763"),
        (2.0, "0.9953222650189527341620693"),
        (2.700000047683716, "0.9998656672967723443961784"),
        (3.5, "0.9999992569016276585872545"),
        (3.9000000953674316, "0.9999999652077780858455829"),
        (4.5, "0.9999999998033839558457113"),
        (6.0, "0.9999999999999999784802633"),
        (9.0, "1.0"),
        (10.0, "1.0"),
    ],
    "erfc": [
        (1.0000000031710769e-30, "1.0"),
        (9.999999747378752e-06, "0.9999887162086144735544417"),
        (0.009999999776482582, "0.988716584696337560955936"),
        (0.30000001192092896, "0.6713732282472845786094814"),
        (0.5, "0.4795001221869534623172533"),
        (0.800000011920929, "0.2578990281995562942183558"),
        (0.8740000128746033, "0.2164501364624456753959843"),
        (0.8759999871253967, "0.2154006596977940414515263"),
        (0.8999999761581421, "0.203091799545031550686212"),
        (1.0, "0.1572992070502851306587794"),
        (1.5, "0.03389485352468927293302374"),
        (2.0, "0.004677734981047265837930744"),
        (2.700000047683716, "0.0001343327032276556038215527"),
        (3.5, "0.0000007430983723414127455236838"),
        (3.9000000953674316, "3.479222191415441707873299e-8"),
        (4.5, "1.96616044154288747627916e-10"),
        (6.0, "2.151973671249891311659335e-17"),
        (9.0, "4.137031746513810238053903e-37"),
        (10.0, "2.088487583762544757000786e-45"),
        (-9.999999747378752e-06, "1.000011283791385526445558"),
        (-0.5, "1.520499877813046537682747"),
        (-1.0, "1.842700792949714869341221"),
        (-3.0, "1.999977909503001414558627"),
    ],
    "erf_inv": [
        (1.0000000031710769e-30, "8.862269282630517016595723e-31"),
        (9.999999747378752e-06, "0.000008862269030879841543391963"),
        (0.009999999776482582, "0.008862501082847884696270118"),
        (0.30000001192092896, "0.2724627261055237748133145"),
        (0.5, "0.4769362762044698733814184"),
        (0.699999988079071, "0.7328690598827589077603982"),
        (0.8999999761581421, "1.163087071945772235512008"),
        (0.9900000095367432, "1.821386600900277774988536"),
        (0.9959999918937683, "2.035167231032059312439167"),
        (0.9998999834060669, "2.751035437903287400559617"),
        (0.9999997615814209, "3.653322423990243564938506"),
        (0.9999999403953552, "3.832506856900710909458261"),
    ],
}  # fmt: skip


# The same of doubles, on both sides of where formulas change.
ERROR_FUNCTIONS_OF_DOUBLES = {
    "erf": [
        (0.023604808973743452, "0.02663022859162100405061778"),
        (0.32063320684614316, "0.3497708182882557750146291"),
        (0.46980291213053404, "0.4935667228908314062647624"),
        (0.8538743067700603, "0.7727836876029839300997166"),
        (0.8766628773919898, "0.7849463785312953091221079"),
        (1.4015910144850747, "0.9525374356778445887971063"),
        (3.8359100861754376, "0.9999999419792555612684838"),
        (5.720407116346228, "0.9999999999999994027514617"),
    ],
    "erfc": [
        (-5.2348373974945615, "1.999999999999867036716471"),
        (-5.7780718243096825, "1.999999999999999695238467"),
        (-1.409651991007705, "1.953798632484580329584305"),
        (-1.6956490922144047, "1.983515582242423957617761"),
        (-0.4827335470714631, "1.505196194084707443847029"),
        (-0.48938167075684696, "1.511119311838685380019516"),
        (0.0857601730315666, "0.9034667263889303301324444"),
        (0.3709902525712242, "0.5998199533568392861158432"),
        (0.45802440341448936, "0.5171503315607427240328419"),
        (0.45646566426916263, "0.5185773487057402780037882"),
        (0.494013435156289, "0.4847767267462942998622934"),
        (0.4758030685405772, "0.5010190862234784601399807"),
        (0.6549249786497677, "0.3543400847959549754809664"),
        (0.813487801206565, "0.2499604367615826537208258"),
        (1.731894708878718, "0.01431465022682038368292851"),
        (1.8546483579913473, "0.008719282658575993706121854"),
        (3.144065976769559, "0.000008732911041468527670333261"),
        (2.112733728425398, "0.00280941252761385324099723"),
        (3.3605851883719877, "0.000002008321449747501436928248"),
        (3.3671701456516474, "0.000001917809141216905072111278"),
        (3.4505953775710414, "0.000001061510645550561482589915"),
        (3.4177790174240785, "0.000001341738844084669850979"),
        (4.210381831377718, "2.610610482408194438257647e-9"),
        (3.6340193108980854, "0.0000002757940662080332572024197"),
        (8.738353455599633, "4.415522912518663927156275e-35"),
        (8.461936680740333, "5.29163753519148590404034e-33"),
        (12.285833217522324, "1.280699058440265142275429e-67"),
        (10.801474437439948, "1.112140649982193252973152e-52"),
        (19.54435144707343, "3.69236129207653887857895e-168"),
        (17.861834008429458, "8.69537854679719258614055e-141"),
        (24.411586199393952, "3.599908454889662572476574e-261"),
        (24.240220441118172, "1.514150467257027254187653e-257"),
        (25.76255856299913, "1.243853429997371562444069e-290"),
        (25.6209190646976, "1.811026132617269888667249e-287"),
    ],
    "erf_inv": [
        (0.059891247218998946, "0.05312717735491159229038574"),
        (0.3862086034586614, "0.3568548130312633221693593"),
        (0.5032264121224321, "0.480532108556190021974307"),
        (0.5444089277146191, "0.5275910261691938446565163"),
        (0.940629615931731, "1.333207796496887470189993"),
        (0.9903891462216502, "1.831070450005189486929272"),
        (0.9999904168979911, "3.12991794972610966253729"),
        (0.9999999999999991, "5.686128441310390980051604"),
        (3e-09, "2.658680776358274029531057e-9"),
    ],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ERROR_FUNCTIONS)
def test_error_functions(instructions, name, dtype):
    points = ERROR_FUNCTIONS[name]
    if dtype == "float64":
        points = points + ERROR_FUNCTIONS_OF_DOUBLES[name]
    got = loop(name, np.array([x for x, _ in points], dtype))
    for (x, text), value in zip(points, got, strict=True):
        exact = Fraction(Decimal(text))
        unit = Fraction(float(np.spacing(abs(np.dtype(dtype).type(float(exact))))))
        off = float(abs(Fraction(float(value)) - exact) / unit)
        assert off <= MOST, f"{name}({x!r}) is {value!r}, not {text}: {off:.3g} units"
    odd = {"erf": -1, "erf_inv": -1}
    if name in odd:
        assert np.array_equal(loop(name, -np.array([x for x, _ in points], dtype)), -got)


@pytest.mark.parametrize(("name", "most"), [("erf", 1.6), ("erfc", 3.5), ("erf_inv", 2.5)])
def test_error_functions_of_floats(instructions, name, most):
    """They are computed in float; these are the bounds over all floats, of which some are drawn."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-low, high, 20_000) for low, high in [(1, 1), (5, 5), (5, 11)]])
    x = np.concatenate([x, np.exp(rng.uniform(-87, 0, 20_000))]).astype(np.float32)
    if name == "erf_inv":
        x = np.concatenate([x, 1 - x[-9000:]])
        x = x[np.abs(x) < 1]
    want = getattr(scipy.special, name.replace("_", ""))(x.astype(np.float64))
    assert np.max(errors(loop(name, x), want)) <= most


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_special_values_of_error_functions(instructions, dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1.5], np.float64).astype(dtype)
    nan, inf = np.nan, np.inf
    table = {
        "erf": [0.0, -0.0, 1.0, -1.0, nan],
        "erfc": [1.0, 1.0, 0.0, 2.0, nan],
        "erf_inv": [0.0, -0.0, nan, nan, nan, inf, -inf, nan],
    }
    for name, want in table.items():
        assert_same(loop(name, x)[: len(want)], np.array(want).astype(dtype), label=name)
