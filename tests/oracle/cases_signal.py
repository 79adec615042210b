"""evertrace.scipy.signal."""

from tests.oracle.cases import Draw
from tests.oracle.differences import ACCIDENT, LENIENT
from tests.oracle.tables import B1, C1, N1, X0, X1, Y1, call, programs

LONG, KERNEL = Draw((6,)), Draw((3,), seed=1)
MATRIX, PATCH, EVEN = Draw((5, 6)), Draw((2, 3), seed=1), Draw((2, 2), seed=1)
CUBE, BLOCK = Draw((3, 4, 2)), Draw((2, 2, 2), seed=1)
TALL, WIDE = Draw((5, 2)), Draw((2, 5), seed=1)
EMPTY = Draw((0,))
HALF, HALF_KERNEL = Draw((4,), "float16"), Draw((4,), "float16", seed=1)
BF = Draw((4,), "bfloat16")
PAIRS = [
    (LONG, KERNEL), (KERNEL, LONG), (X1, Y1), (N1, N1), (B1, B1), (N1, C1), (C1, C1), (MATRIX, PATCH),
    (PATCH, MATRIX), (CUBE, BLOCK), (MATRIX, EVEN),
]  # fmt: skip
MODES = ("full", "same", "valid")

CONVOLUTIONS = [
    *(
        call(f"scipy.signal.{f}", *pair, mode=mode, method=method, tolerance=32)
        for f in ("convolve", "correlate")
        for pair in PAIRS
        for mode in MODES
        for method in ("direct", "fft")
    ),
    *(
        call(f"scipy.signal.{f}", *pair)
        for f in ("convolve", "correlate", "fftconvolve")
        for pair in (
            (LONG, MATRIX), (EMPTY, KERNEL), (EMPTY, EMPTY), (1.0, 2.0), ([1.0], [2.0]),
            (HALF, HALF_KERNEL), (TALL, WIDE),
        )
    ),
    *(
        call(f"scipy.signal.{f}", LONG, KERNEL, **kwargs)
        for f in ("convolve", "correlate")
        for kwargs in (
            {}, {"mode": "x"}, {"mode": 1}, {"method": "x"}, {"precision": "highest"},
            {"method": "auto"},
        )
    ),
    *(
        call(f"scipy.signal.{f}", TALL, WIDE, mode=mode)
        for f in ("convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d")
        for mode in ("same", "valid")
    ),
    *(
        call(f"scipy.signal.{f}", *pair, mode=mode)
        for f in ("convolve2d", "correlate2d")
        for pair in ((MATRIX, PATCH), (PATCH, MATRIX), (MATRIX, EVEN), (EVEN, EVEN))
        for mode in MODES
    ),
    *(
        call(f"scipy.signal.{f}", MATRIX, PATCH, **kwargs)
        for f in ("convolve2d", "correlate2d")
        for kwargs in (
            {"mode": "x"}, {"boundary": "wrap"}, {"boundary": "x"}, {"fillvalue": 2},
            {"fillvalue": 0.0},
        )
    ),
    *(call(f"scipy.signal.{f}", LONG, KERNEL) for f in ("convolve2d", "correlate2d")),
    *(
        call("scipy.signal.fftconvolve", *pair, mode=mode, tolerance=32)
        for pair in PAIRS
        for mode in MODES
    ),
    *(
        call("scipy.signal.fftconvolve", MATRIX, other, tolerance=32, **kwargs)
        for other in (Draw((2, 6), seed=1), Draw((2, 1), seed=1), PATCH)
        for kwargs in ({"axes": 0}, {"axes": (0,), "mode": "same"}, {"axes": (0, 1)}, {"axes": 5})
    ),
    call("scipy.signal.fftconvolve", MATRIX, PATCH, mode="x"),
    call("scipy.signal.fftconvolve", BF, BF),
]  # fmt: skip

WAVE = Draw((2, 50))
VALUES = [
    {}, {"fs": 4.0}, {"fs": 10}, {"window": "hamming"}, {"window": ("kaiser", 4.0)},
    {"window": "nope"}, {"noverlap": 4}, {"noverlap": 0}, {"noverlap": 16}, {"nfft": 32},
    {"nfft": 17}, {"nfft": 8}, {"nperseg": 15}, {"nperseg": 0}, {"nperseg": -3}, {"nperseg": 100},
    {"detrend": "linear"}, {"detrend": "constant"}, {"detrend": False}, {"detrend": "x"},
    {"detrend": True}, {"return_onesided": False}, {"axis": 0}, {"axis": 5},
    {"window": Draw((16,))}, {"window": Draw((10,))}, {"window": Draw((2, 8))},
]  # fmt: skip
OF_STFT = [
    {"boundary": b} for b in (None, "even", "odd", "constant", "x", False)
] + [{"padded": False}, {"padded": False, "boundary": None}, {"noverlap": -1}]  # fmt: skip
OF_WELCH = [
    {"scaling": "spectrum"},
    {"scaling": "x"},
    {"average": "median"},
    {"average": "x"},
]

SPECTRA = [
    *(
        call("scipy.signal.stft", WAVE, tolerance=64, **{"nperseg": 16, **k})
        for k in (*VALUES, *OF_STFT)
    ),
    *(
        call("scipy.signal.welch", WAVE, tolerance=64, **{"nperseg": 16, **k})
        for k in (*VALUES, *OF_WELCH)
    ),
    *(
        call("scipy.signal.csd", WAVE, Draw((2, 50), seed=1), tolerance=64, **{"nperseg": 16, **k})
        for k in (*VALUES, *OF_WELCH)
    ),
    *(
        call(f"scipy.signal.{f}", x, nperseg=8, tolerance=64)
        for f in ("stft", "welch")
        for x in (
            Draw((20,), "int32"),
            Draw((20,), "complex64"),
            Draw((20,), "float16"),
            Draw((0,)),
            Draw((3, 4, 20)),
            X0,
        )
    ),
    *(
        call("scipy.signal.csd", x, y, nperseg=8, tolerance=64)
        for x, y in (
            (Draw((20,)), None),
            (Draw((20,)), Draw((16,))),
            (Draw((20,)), Draw((2, 20))),
            (Draw((3, 20)), Draw((2, 20))),
            (Draw((20,)), Draw((20,), "complex64")),
        )
    ),
    call("scipy.signal.stft", Draw((600,)), tolerance=64),
    call("scipy.signal.welch", Draw((600,)), tolerance=64),
]

Z = Draw((9, 8), "complex64")
INVERSES = [
    *(
        call("scipy.signal.istft", Z, tolerance=64, **kwargs)
        for kwargs in (
            {}, {"nperseg": 16}, {"nperseg": 20}, {"nperseg": 17}, {"nperseg": 10},
            {"noverlap": 4}, {"noverlap": 12}, {"noverlap": 16}, {"window": "hamming"},
            {"window": Draw((16,))}, {"window": Draw((15,))}, {"nfft": 16}, {"nfft": 32},
            {"nfft": 8}, {"input_onesided": False}, {"boundary": False}, {"fs": 2.0},
            {"time_axis": 0, "freq_axis": 1}, {"time_axis": -2}, {"time_axis": 9},
            {"window": "nope"},
        )
    ),
    call("scipy.signal.istft", Draw((5,), "complex64")),
    call("scipy.signal.istft", Draw((9, 8)), tolerance=64),
]  # fmt: skip

TRENDS = [
    *(
        call("scipy.signal.detrend", Draw((5, 10)), tolerance=32, **kwargs)
        for kwargs in (
            {}, {"type": "constant"}, {"type": "x"}, {"axis": 0}, {"axis": 5}, {"bp": 3},
            {"bp": [4, 7]}, {"bp": 11}, {"bp": -1}, {"overwrite_data": True}, {"type": "c"},
            {"axis": None}, {"bp": 1.5},
        )
    ),
    *(
        call("scipy.signal.detrend", x, type=kind, tolerance=32)
        for x in (N1, B1, C1, HALF, Draw((2, 0)), 1.0)
        for kind in ("linear", "constant")
    ),
]  # fmt: skip

PROGRAMS = programs(
    """
    ev.grad(lambda a: jnp.sin(ev.scipy.signal.convolve(a, a, 'same')).sum())(x)
    ev.grad(lambda a: jnp.sin(ev.scipy.signal.fftconvolve(a, a[:3])).sum())(x)
    ev.grad(lambda a: jnp.sin(ev.scipy.signal.detrend(a)).sum())(x)
    ev.grad(lambda a: jnp.log(ev.scipy.signal.welch(a, nperseg=8)[1]).sum())(x)
    ev.grad(lambda a: jnp.abs(ev.scipy.signal.stft(a, nperseg=8)[2]).sum())(x)
    ev.vmap(lambda d: ev.scipy.signal.stft(x, d, nperseg=8))(x[:2])
    """,
    Draw((20,)),
    tolerance=64,
)

CASES = [*CONVOLUTIONS, *SPECTRA, *INVERSES, *TRENDS, *PROGRAMS]

SILENT = "a signal without elements has no spectrum"

DIFFERENCES = {
    **{
        f"scipy.signal.{f}({args})": LENIENT
        for f in ("convolve", "correlate")
        for args in (
            "1.0, 2.0",
            "float32[5,2], float32[2,5]",
            "float32[5,2], float32[2,5], mode=same",
        )
    },
    **{f"scipy.signal.{f}([1.0], [2.0])": ACCIDENT for f in ("convolve", "correlate")},
    **{
        f"scipy.signal.{f}({args})": LENIENT
        for f in ("convolve2d", "correlate2d")
        for args in (
            "float32[5,2], float32[2,5], mode=same",
            "float32[5,6], float32[2,3], boundary=wrap",
            "float32[5,6], float32[2,3], fillvalue=2",
        )
    },
    **{
        f"scipy.signal.fftconvolve({args})": LENIENT
        for args in (
            "float16[4], float16[4]",
            "bfloat16[4], bfloat16[4]",
            "float32[5,6], float32[2,1], axes=0",
            "float32[5,6], float32[2,1], axes=(0,), mode=same",
        )
    },
    "scipy.signal.fftconvolve(float32[0], float32[3])": "as for convolve, empty arrays are refused",
    "scipy.signal.stft(float16[20], nperseg=8)": LENIENT,
    "scipy.signal.welch(float16[20], nperseg=8)": LENIENT,
    "scipy.signal.stft(float32[0], nperseg=8)": SILENT,
    "scipy.signal.welch(float32[0], nperseg=8)": SILENT,
    "scipy.signal.welch(float32[600])": "nperseg is 256 by default, as in SciPy and JAX's manual",
    "scipy.signal.istft(complex64[9,8], nperseg=17)": LENIENT,
    "scipy.signal.detrend(float32[5,10], type=c)": LENIENT,
    "scipy.signal.detrend(float16[4], type=linear)": LENIENT,
    "scipy.signal.detrend(float32[2,0], type=linear)": LENIENT,
}
