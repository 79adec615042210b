"""Callbacks, which read the state of the moment and write what they are told."""

from tests.contract.families.family import Family

_SOURCE = """
def scaled(k, z, c=2):
    return np.asarray(z) * np.float32(k * 0.5 + c)

class Host:
    def __init__(self, k):
        self.k, self.calls, self.seen = k, 0, []
    def read(self, z):
        return np.asarray(z) * np.float32(self.k)
    def stamp(self, z):
        self.calls += 1
        return np.asarray(z) + np.float32(self.calls)
    def note(self, *zs):
        self.seen.append([np.array(z) for z in zs])
"""

FAMILIES = (
    Family(
        "pure callbacks",
        _SOURCE,
        expressions={
            "arr": [
                "pure_callback(lambda z: np.asarray(z) * np.float32(<num.>), <arr.:a>, <:a>)",
                "pure_callback(lambda z, k=<num>: np.asarray(z) + np.float32(k), <arr.:a>, <:a>)",
                "pure_callback(functools.partial(scaled, <num>), <arr.:a>, <:a>)",
                "pure_callback(functools.partial(scaled, <num.>, c=<num>), <arr.:a>, <:a>)",
                "pure_callback(<host.>.read, <arr.:a>, <:a>)",
                "pure_callback(lambda z: <host.>.read(z) - np.float32(<num.>), <arr.:a>, <:a>)",
                "pure_callback(lambda z: np.asarray(z) + len(<nums.>), <arr.:a>, <:a>)",
                "pure_callback(lambda z: np.asarray(z) * np.asarray(<arr.>), <arr.:a>, <:a>)",
                "pure_callback(lambda z: np.flip(np.asarray(z)) if <bool> else np.asarray(z),"
                " <arr.:a>, <:a>)",
                "lax.fori_loop(0, 2, lambda _, z: pure_callback(<host.>.read, z, z), <arr.>)",
                "lax.scan(lambda c, z: (c + pure_callback(lambda y: np.asarray(y) *"
                " np.float32(<num.>), z, z), c), <arr.>[0], <arr.>)[1]",
                "vmap(lambda z: pure_callback(<host.>.read, z, z,"
                " vmap_method='sequential'))(<arr.>)",
                "lax.cond(<bool>, lambda z: pure_callback(<host.>.read, z, z),"
                " lambda z: z, <arr.>)",
            ],
        },
        statements=(
            "<host.>.k = <num>",
            "<host!> = Host(<num>)",
            "<host!> = <host.>",
            "scaled.__defaults__ = (<num>,)",
            "@custom_jvp\ndef soft(z):\n    return pure_callback(<host.>.read, z, z)\n"
            "soft.defjvps(lambda t, out, z: t * <num.>)\n"
            "<arr!> = grad(lambda z: jnp.sum(soft(z)))(<arr.>)",
            "def tell(z):\n    return np.asarray(z) + np.float32(<num.>)\n"
            "<arr!> = pure_callback(tell, <arr.:a>, <:a>)",
        ),
        start={"host": ["Host(s)", "Host(0.5)"]},
        parts_of={"host": [(".k", "num", True), (".calls", "int", True)]},
        attributes={"host": "host"},
        globals={"HOST": "host"},
        arguments={"h": "host"},
        shared=frozenset({"host"}),
    ),
    Family(
        "effects of callbacks",
        _SOURCE,
        expressions={
            "arr": ["io_callback(<host.>.stamp, <arr.:a>, <:a>, ordered=True)"],
            "int": ["len(<host.>.seen)"],
        },
        statements=(
            "io_callback(<host.>.note, None, <arr.>, ordered=True)",
            "io_callback(lambda z: <nums.>.append(z.shape[0]), None, <arr.>, ordered=True)",
            "io_callback(lambda z: <host.>.note(z, <num.>), None, <arr.>, ordered=True)",
            "debug.callback(<host.>.note, <arr.>, ordered=True)",
            "debug.callback(lambda z, k=<num>: <host.>.note(z, k), <arr.>, ordered=True)",
            "debug.callback(functools.partial(<host.>.note, <num.>), <arr.>, ordered=True)",
            "debug.callback(lambda z: setattr(<obj.>, 'extra', z.shape[0]), <arr.>, ordered=True)",
            "debug.print('k {}', <num.>)",
            "debug.print('{n} of {k}', n=<int.>, k=<num>, ordered=True)",
            "debug.print(f'step {<int.>} {{}}', <arr.>.shape[0], ordered=True)",
            "debug.callback(lambda: print('<key>', <num.>, <str.>), ordered=True)",
            "lax.fori_loop(0, 2, lambda i, z: (io_callback(<host.>.note, None, z, ordered=True),"
            " z * 0.5)[1], <arr.>)",
            "<host.>.calls = <int>",
            "<host.>.seen.clear()",
            "<host!> = Host(<num>)",
        ),
        start={"host": ["Host(s)", "Host(0.5)"]},
        parts_of={"host": [(".k", "num", True), (".calls", "int", True)]},
        attributes={"host": "host", "ticks": "nums"},
        globals={"HOST": "host", "LOG": "nums"},
        arguments={"h": "host"},
        shared=frozenset({"host"}),
    ),
)
