"""Numbers that are no floats: complex and large ones, decimals, fractions, dates."""

from tests.contract.families.family import Family

FAMILIES = (
    Family(
        "exact numbers",
        expressions={
            "num": [
                "float(<de.>)",
                "float(<fr.> + <int.>)",
                "<fr.>.numerator % 7",
                "<cx.>.imag",
                "abs(<cx.>)",
                "(<cx.> * 1j).real",
                "<big.> % 7",
                "<big.> // 10**11",
                "float(<big.> % 1001) * 0.5",
                "round(<de.>, 1).__float__()",
            ],
            "arr": ["<arr.> + <cx.>.real", "<arr.> * float(<fr.>)", "<arr.> + <big.> % 5"],
            "bool": ["<de.> > <int.>", "<fr.> == Fraction(1, 3)", "<cx.> == 1", "<big.> > 10**12"],
        },
        statements=(
            "<de!> = (<de.> + Decimal(<int.>)) % 5",
            "<de!> = Decimal(str(<num.>))",
            "<de!> = Decimal(<int.>) / 3",
            "<fr!> = Fraction(<int.>, 3)",
            "<fr!> = (<fr.> * <int.> + 1) % 2",
            "<fr!> = Fraction(<num.>).limit_denominator(10)",
            "<cx!> = complex(<num>, <num>)",
            "<cx!> = <cx.> * 0.5 + <num.>",
            "<cx!> = <cx.> * (0.5 + 0.5j)",
            "<cx!> = <cx.>.conjugate()",
            "<cx!> = <num.> ** 2 + 1j",
            "<big!> = <big.> + <int.>",
            "<big!> = <big.> * 3 % (10**20 + 39)",
            "<big!> = -<big.> // 2 + 10**13",
            "<big!> = 2**31 + <int>",
        ),
        results=(
            "<cx.>", "<de.>", "<fr.>", "<big.>", "Fraction(<int>, 7)", "complex(<num>, 1)",
            "(<cx.>, <arr>)", "Decimal(<int>)",
        ),
        outside=("decimal.getcontext().prec = 5", "decimal.getcontext().prec = 28"),
        start={
            "de": ["Decimal('0.1')", "Decimal(2)"],
            "fr": ["Fraction(1, 3)", "Fraction(2)"],
            "cx": ["1 + 2j", "complex(s)"],
            "big": ["10**12", "2**70 + 1", "2**31"],
        },
        attributes={"de": "de", "fr": "fr", "cx": "cx", "phase": "cx", "big": "big"},
        globals={"DE": "de", "CX": "cx", "HUGE": "big"},
        arguments={"c": "cx", "fr": "fr", "n_big": "big"},
    ),
    Family(
        "dates",
        expressions={
            "num": [
                "<da.>.day", "<td.>.total_seconds() % 7", "(<da.> - date(2020, 1, 1)).days % 11",
                "<td.>.days", "<da.>.toordinal() % 9",
            ],
            "bool": ["<da.> > date(2020, 6, 1)", "<td.> == timedelta(1)", "bool(<td.>)"],
            "str": ["<da.>.isoformat()[-1]", "f'{<da.>:%d}'"],
        },
        statements=(
            "<da!> = <da.> + timedelta(days=<int.>)",
            "<da!> = <da.> + <td.>",
            "<da!> = <da.>.replace(day=1 + <int> % 20)",
            "<td!> = timedelta(hours=<num.>)",
            "<td!> = <td.> * 2 % timedelta(9)",
            "<td!> = timedelta(seconds=<int>)",
            "<words.>.append(<da.>.isoformat())",
            "<words.>.append(f'{<td.>}')",
        ),
        results=("<da.>", "<td.>", "(<da.>, <arr>)", "timedelta(<int>)"),
        start={
            "da": ["date(2020, 2, 28)", "datetime(2021, 1, 1, 12)", "date(2020, 12, 31)"],
            "td": ["timedelta(1)", "timedelta(hours=s)"],
        },
        attributes={"da": "da", "td": "td", "words": "words"},
        globals={"DA": "da", "TD": "td"},
        arguments={"da": "da"},
    ),
)  # fmt: skip
