"""State behind a getter: context variables, random generators, queues, the environment."""

from tests.contract.families.family import Family

FAMILIES = (
    Family(
        "context variables",
        """
RATE_VAR = contextvars.ContextVar("rate", default=0.5)
NAME_VAR = contextvars.ContextVar("name")
LOCAL = threading.local()
LOCAL.k = 2
""",
        expressions={
            "num": [
                "RATE_VAR.get()",
                "RATE_VAR.get(<num>)",
                "LOCAL.k",
                "getattr(LOCAL, 'j', <lit>)",
            ],
            "str": ["NAME_VAR.get('<key>')", "os.environ.get('TEST_WORD', '<key>')"],
            "bool": ["'TEST_WORD' in os.environ", "RATE_VAR.get() > <lit>"],
        },
        statements=(
            "RATE_VAR.set(<num>)",
            "NAME_VAR.set(<str>)",
            "LOCAL.k = <num>",
            "LOCAL.j = <int>",
            "token = RATE_VAR.set(<num>)\n<num!> = RATE_VAR.get() * 0.5\n"
            "RATE_VAR.reset(token)\ndel token",
            "RATE_VAR.set(RATE_VAR.get() * 0.5 + 1)",
            "try:\n    <str!> = NAME_VAR.get()\nexcept LookupError:\n    <block>",
            "contextvars.copy_context().run(RATE_VAR.set, <num>)",
        ),
        outside=(
            "os.environ['TEST_WORD'] = 'b'",
            "os.environ['TEST_WORD'] = 'c'",
            "os.environ.pop('TEST_WORD', None)",
        ),
        attributes={"rate": "num", "mode": "str"},
    ),
    Family(
        "random state",
        expressions={
            "num": [
                "<rn.>.random()",
                "<rn.>.randint(0, 3)",
                "<rn.>.gauss(0, 1)",
                "<rn.>.choice([1, <num>])",
                "<rn.>.uniform(<num>, 2)",
                "float(<gr.>.random())",
                "int(<gr.>.integers(3))",
                "float(<rs.>.rand())",
            ],
            "arr": [
                "<arr.> + <gr.>.normal(size=<n>).astype(np.float32)",
                "<arr.> + <gr.>.random(<n>) * 0.5",
                "<arr.> * <rn.>.random()",
                "<arr.> + <rs.>.rand(<n>)",
                "jr.normal(<rkey.>, (<n>,)) * 0.5 + <arr.>",
            ],
            "bool": ["<rn.>.random() < 0.5", "<gr.>.random() < 0.5"],
        },
        statements=(
            "<rn.>.shuffle(<nums.>)",
            "<rn.>.seed(<int.>)",
            "<rn!> = random.Random(<int>)",
            "<rn!> = random.Random(3)",
            "<nums.>.append(<rn.>.random())",
            "<nums!> = <rn.>.sample([1, 2, <num>], 2)",
            "<gr!> = np.random.default_rng(3)",
            "<gr.>.shuffle(<np.>)",
            "<np!> = <gr.>.normal(size=<n>)",
            "<np!> = <gr.>.normal(size=(2, <n>))[0] * <num>",
            "<np!> = <gr.>.integers(2**40, size=<n>)",
            "<np!> = np.mean(<rs.>.rand(2, <n>), axis=0)",
            "<np!> = <gr.>.permutation(<n>) // 2\n<np.>[0] = <int>",
            "<rkey!>, sub = jr.split(<rkey.>)\n<arr!> = jr.normal(sub, (<n>,)) * 0.5\ndel sub",
            "<rkey!> = jr.fold_in(<rkey.>, <int.>)",
        ),
        results=(
            "<rn.>.random()", "(<arr>, <rn.>.random())", "<rn.>", "<gr.>.integers(2**40, size=2)",
            "<gr.>.normal(size=2)", "<rs.>.randint(2**40)",
        ),
        start={
            "rn": ["random.Random(1)", "random.Random(2)"],
            "gr": ["np.random.default_rng(1)"],
            "rs": ["np.random.RandomState(1)"],
            "rkey": ["jr.key(1)"],
        },
        attributes={"rn": "rn", "gr": "gr", "rkey": "rkey", "hist": "nums", "rs": "rs"},
        globals={"RN": "rn", "GR": "gr"},
        arguments={"rng": "rn"},
        shared=frozenset({"rn", "gr"}),
    ),
    Family(
        "queues",
        expressions={
            "num": ["<qu.>.qsize()", "<qu.:a>.get_nowait() if not <:a>.empty() else <lit>"],
            "bool": ["<qu.>.empty()", "<qu.>.qsize() > 1"],
        },
        statements=(
            "<qu.>.put(<num>)",
            "if not <qu.:a>.full():\n    <:a>.put_nowait(<num>)",
            "if not <qu.:a>.empty():\n    <num!> = <:a>.get()",
            "try:\n    <num!> = <qu.>.get_nowait()\nexcept queue.Empty:\n    <block>",
            "<pq.>.put((<num>, <int>))",
            "if not <pq.:a>.empty():\n    <num!>, <int!> = <:a>.get()",
            "with <lock.>:\n    <block>",
        ),
        start={
            "qu": ["queue.Queue()", "queue.LifoQueue()"],
            "pq": ["queue.PriorityQueue()"],
            "lock": ["threading.RLock()"],
        },
        attributes={"qu": "qu", "pq": "pq", "lock": "lock"},
        globals={"QU": "qu", "LOCK": "lock"},
        arguments={"qu": "qu"},
        shared=frozenset({"qu"}),
    ),
)  # fmt: skip
