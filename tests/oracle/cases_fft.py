"""evertrace.numpy.fft, evertrace.scipy.fft and lax.fft."""

from tests.oracle.cases import Draw
from tests.oracle.differences import ACCIDENT, LENIENT, NUMPY
from tests.oracle.tables import B1, N1, ODD, X0, X1, C, N, X, call, program, programs

CUBE, REST = Draw((2, 3, 4)), Draw((2, 2, 2, 3))
CUBE_C, REST_C = Draw((2, 3, 4), "complex64"), Draw((2, 2, 2, 3), "complex64")
HALF, BF = Draw((4,), "float16"), Draw((4,), "bfloat16")
EMPTY, EMPTY_AXIS = Draw((0, 3)), Draw((3, 0))
REAL_INPUT, COMPLEX_INPUT = (X, N1, B1, EMPTY), (X, C, N1, B1, HALF, BF, EMPTY)

ONE = {
    "fft": COMPLEX_INPUT, "ifft": COMPLEX_INPUT, "rfft": REAL_INPUT, "irfft": COMPLEX_INPUT,
    "hfft": COMPLEX_INPUT, "ihfft": REAL_INPUT,
}  # fmt: skip
TWO = {"fft2": (X, C, N), "ifft2": (X, C, N), "rfft2": (X, N), "irfft2": (X, C, N)}
SEVERAL = {
    "fftn": (X, C, N1, CUBE, REST),
    "ifftn": (X, C, N1, CUBE, REST_C),
    "rfftn": (X, N1, CUBE, REST),
    "irfftn": (X, C, N1, CUBE_C, REST_C),
}
ONE_OPTIONS = [
    {"n": 3}, {"n": 7}, {"n": 5, "axis": 0}, {"axis": 0}, {"axis": -2}, {"norm": "ortho"},
    {"norm": "forward"}, {"norm": "backward", "n": 3}, {"norm": "ortho", "n": 7}, {"n": 1},
]  # fmt: skip
ONE_ERRORS = [
    {"n": 0}, {"n": -1}, {"n": 3.0}, {"axis": 2}, {"axis": (0,)}, {"norm": "x"}, {"norm": 1},
]  # fmt: skip
TWO_OPTIONS = [
    {"s": (2, 3)},
    {"s": (4, 7)},
    {"axes": (1, 0)},
    {"norm": "ortho"},
    {"norm": "forward"},
]
TWO_ERRORS = [
    {"axes": (0,)}, {"axes": (0, 1, 2, 3)}, {"axes": ()}, {"axes": (0, 0)}, {"axes": (5, 0)},
    {"s": (0, 2)}, {"s": (2, 3, 4)}, {"s": (2, None)}, {"s": 4}, {"norm": "x"},
]  # fmt: skip
SEVERAL_OPTIONS = [
    {"s": (2,)}, {"s": (2, 5)}, {"s": (5,), "axes": (0,)}, {"axes": (0,)}, {"axes": (1, 0)},
    {"axes": (-1,)}, {"axes": ()}, {"s": (), "axes": ()}, {"norm": "ortho"}, {"norm": "forward"},
]  # fmt: skip
SEVERAL_ERRORS = [
    {"s": (2, 3, 4)}, {"s": (2, 3), "axes": (0,)}, {"axes": (0, 0)}, {"axes": (5,)}, {"s": 4},
    {"s": (2, -1)}, {"axes": 0}, {"norm": "x"},
]  # fmt: skip


def transforms(inputs, options):
    """Write a call of each function with each input, and with each of the options."""
    return [
        *(call(f"numpy.fft.{f}", x) for f, xs in inputs.items() for x in xs),
        *(call(f"numpy.fft.{f}", X, **kwargs) for f in inputs for kwargs in options),
    ]


TRANSFORMS = [
    *transforms(ONE, [*ONE_OPTIONS, *ONE_ERRORS]),
    *transforms(TWO, [*TWO_OPTIONS, *TWO_ERRORS]),
    *transforms(SEVERAL, [*SEVERAL_OPTIONS, *SEVERAL_ERRORS]),
    *(call(f"numpy.fft.{f}", C) for f in ("rfft", "ihfft", "rfft2", "rfftn")),
    *(call(f"numpy.fft.{f}", x) for f in ("rfft", "ihfft", "rfftn") for x in (HALF, BF)),
    *(call(f"numpy.fft.{f}", EMPTY_AXIS) for f in ("fft", "rfft", "irfft", "fftn")),
    *(call(f"numpy.fft.{f}", x) for f in ("fft", "fftn", "irfft") for x in (X0, 1.0, [1.0, 2.0])),
    *(call(f"numpy.fft.{f}", X1, x64=True) for f in ("fft", "rfft", "irfft")),
    *(call(f"numpy.fft.{f}", Draw((4,), "float64"), x64=True) for f in ("fft", "rfft", "irfft")),
    *(call(f"numpy.fft.{f}", ODD) for f in ("fft", "rfft")),
    program("jnp.fft.fft(x, jnp.int32(3))", X),
]

SHIFTS = [
    *(
        call(f"numpy.fft.{f}", X, **kwargs)
        for f in ("fftshift", "ifftshift")
        for kwargs in (
            {}, {"axes": 0}, {"axes": (0,)}, {"axes": (0, 0)}, {"axes": [0, 1]}, {"axes": ()},
            {"axes": 1.0}, {"axes": -1}, {"axes": (2,)},
        )
    ),
    *(call(f"numpy.fft.{f}", x) for f in ("fftshift", "ifftshift") for x in (N1, 1.0, EMPTY)),
    *(
        call(f"numpy.fft.{f}", *args, **kwargs)
        for f in ("fftfreq", "rfftfreq")
        for args, kwargs in (
            ((5,), {}), ((6,), {}), ((5, 0.1), {}), ((6, 3), {}), ((4, 0), {}), ((1,), {}),
            ((4,), {"dtype": "float16"}), ((4, 2.0), {"dtype": "bfloat16"}), ((5, True), {}),
            ((4,), {"dtype": "complex64"}), ((5, X0), {}), ((5, 1j), {}), ((5, X1), {}),
            ((True,), {}),
        )
    ),
    *(call(f"numpy.fft.{f}", 6, 0.5, x64=True) for f in ("fftfreq", "rfftfreq")),
    call("numpy.fft.fftfreq", 0),
]  # fmt: skip

PROGRAMS = [
    *programs(
        """
        ev.grad(lambda a: jnp.abs(jnp.fft.fft(a)).sum())(x)
        ev.grad(lambda a: jnp.abs(jnp.fft.rfft(a, 7)).sum())(x)
        ev.grad(lambda a: jnp.sin(jnp.fft.irfft(a, 5)).sum())(x)
        ev.grad(lambda a: jnp.sin(jnp.fft.irfft(a + 0j, 6, axis=0)).sum())(x)
        ev.grad(lambda a: jnp.abs(jnp.fft.rfft2(a)).sum())(x)
        ev.grad(lambda a: jnp.sin(jnp.fft.hfft(a, norm='ortho')).sum())(x)
        ev.jacobian(jnp.fft.irfft)(x[0])
        ev.jvp(jnp.fft.rfft2, (x,), (x,))
        ev.vmap(jnp.fft.rfft, in_axes=1)(x)
        ev.vmap(jnp.fft.irfft, out_axes=1)(x)
        ev.vmap(jnp.fft.fftshift)(x)
        ev.vmap(lambda d: jnp.fft.fftfreq(5, d))(x[0])
        ev.linear_transpose(jnp.fft.rfft, x)(jnp.fft.rfft(x))
        """,
        X,
    ),
    *programs(
        """
        ev.grad(lambda a: jnp.sin(jnp.fft.irfft(a).sum()), holomorphic=False)(x.real)
        ev.vjp(jnp.fft.irfft, x)[1](jnp.ones((3, 6)))[0]
        ev.vjp(jnp.fft.irfft2, x)[1](jnp.ones((3, 6)))[0]
        ev.vjp(jnp.fft.fft2, x)[1](x)[0]
        ev.vjp(lambda a: jnp.fft.irfft(a, 3), x)[1](jnp.ones((3, 3)))[0]
        """,
        C,
    ),
    program("jnp.fft.irfft2(jnp.fft.rfft2(x, norm='ortho'), norm='ortho')", X, jit=True),
]

LAX = [
    *programs(
        """
        lax.fft(x, 'FFT', (4,))
        lax.fft(x, lax.FftType.IFFT, (3, 4))
        lax.fft(x, 'RFFT', (4,))
        lax.fft(x, 'RFFT', (3, 4))
        lax.fft(x, 2, (4,))
        lax.fft(x, 'IRFFT', (6,))
        lax.fft(x, 'IRFFT', (7,))
        lax.fft(x, 'RFFT', (5,))
        lax.fft(x, 'FFT', (-4,))
        lax.fft(x, 'abc', (4,))
        lax.fft(x, 'RFFT', (2, 3, 4))
        lax.fft(x, 'RFFT', ()), lax.fft(x, 'FFT', ()), lax.fft(x, 'IRFFT', ())
        lax.fft(x + 0j, 'RFFT', (4,))
        lax.fft(x, 'RFFT', [4])
        lax.fft(x.astype('float16'), 'RFFT', (4,))
        lax.fft(x[:, :0], 'FFT', (0,)), lax.fft(x[:0], 'RFFT', (4,))
        lax.fft(x[:, :1], 'IRFFT', (0,)), lax.fft(x[:, :1], 'IRFFT', (1,))
        lax.fft(x[:, :0], 'RFFT', (0,))
        lax.fft(x.astype(int), 'RFFT', (4,)), lax.fft(x > 0, 'FFT', (4,))
        [int(k) for k in lax.FftType], str(lax.FftType.RFFT), repr(lax.FftType.RFFT)
        """,
        X,
    ),
]

COSINE = ("dct", "idct", "dctn", "idctn")
COSINES = [
    *(
        call(f"scipy.fft.{f}", x)
        for f in COSINE
        for x in (X, C, N1, B1, HALF, BF, CUBE, EMPTY_AXIS, 1.0, [1.0, 2.0])
    ),
    *(
        call(f"scipy.fft.{f}", X, **kwargs)
        for f in COSINE
        for kwargs in (
            {"norm": "ortho"}, {"norm": "backward"}, {"norm": "forward"}, {"norm": "x"},
            {"type": 3}, {"type": 5},
        )
    ),
    *(
        call(f"scipy.fft.{f}", X, **kwargs)
        for f in ("dct", "idct")
        for kwargs in (
            {"n": 3}, {"n": 6}, {"n": 7, "axis": 0, "norm": "ortho"}, {"axis": 0}, {"n": 0},
            {"axis": 5}, {"axis": None}, {"n": 1},
        )
    ),
    *(
        call(f"scipy.fft.{f}", X, **kwargs)
        for f in ("dctn", "idctn")
        for kwargs in (
            {"s": (2, 6)}, {"s": (2, 6), "norm": "ortho"}, {"axes": 0}, {"axes": (1,)},
            {"axes": ()}, {"axes": (0, 0)}, {"axes": (5,)}, {"s": (2, 3, 4)}, {"s": (2,)},
            {"s": (2, 3), "axes": (0,)}, {"s": (5, 3), "axes": (1, 0)},
        )
    ),
    *programs(
        """
        ev.grad(lambda a: jnp.sin(ev.scipy.fft.dct(a)).sum())(x)
        ev.grad(lambda a: jnp.sin(ev.scipy.fft.idctn(a, norm='ortho')).sum())(x)
        ev.vmap(ev.scipy.fft.idct, in_axes=1)(x)
        """,
        X,
    ),
]  # fmt: skip

CASES = [*TRANSFORMS, *SHIFTS, *PROGRAMS, *LAX, *COSINES]

DIFFERENCES = {
    **{
        f"numpy.fft.{f}({dtype}[4])": LENIENT
        for f in ("rfft", "ihfft", "rfftn")
        for dtype in ("float16", "bfloat16")
    },
    **{f"scipy.fft.{f}(float32[3,4], norm=forward)": LENIENT for f in COSINE},
    **{f"scipy.fft.{f}(float32[3,4], type=3)": LENIENT for f in COSINE},
    **{f"scipy.fft.{f}(float32[3,0])": ACCIDENT for f in COSINE},
    **{f"scipy.fft.{f}(float32[3,4], n=0)": ACCIDENT for f in ("dct", "idct")},
    **{f"scipy.fft.{f}(float32[3,4], s=(2, 3), axes=(0,))": NUMPY for f in ("dctn", "idctn")},
    **{
        f"scipy.fft.{f}(float16[4])": "evertrace computes in float32, JAX with weights in float16"
        for f in ("idct", "idctn")
    },
    "numpy.fft.rfft(float32[3,0])": LENIENT,
    "numpy.fft.irfftn(float32[3,4], s=(), axes=())": "JAX cuts the last axis, of none to transform",
    "lax.fft(x, 2, (4,))": LENIENT,
    "lax.fft(x, 'RFFT', [4])": LENIENT,
    "lax.fft(x.astype('float16'), 'RFFT', (4,))": LENIENT,
    "lax.fft(x[:, :0], 'RFFT', (0,))": LENIENT,
}
