"""Claims on values and on the super keys of rows: sections 5, 7.3, 7.5.3, 7.5.4 and 9."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.reporting import bootstrap, rules
from experiments.reporting.claims.claim import Claim
from experiments.reporting.claims.hashes import STANDARD
from experiments.reporting.comparisons import LakeResults, xash
from experiments.reporting.numbers import number, percent, times
from experiments.reporting.verdicts import (
    HALF,
    Case,
    Finding,
    Untestable,
    Verdict,
    above,
    by_cases,
    factor,
    flag,
    ranged,
    reached,
    within,
)

LENGTH, POSTINGS = "most values fit the length segment", "few values have most postings"
LEMMA, THIRD = "rare characters collide less", "a third key column removes most joinable rows"
FILL = "six columns fill the super keys of standard hash functions"
SHORT, SIMILAR = "XASH is weak on short values", "false positives of XASH look similar"
TWELVE, WIDTH = "12 items per posting list", "wide rows explain precision by k"
CORPUS_RARE = "corpus-rare characters"


def _rows(lake: LakeResults, kind: str) -> pd.DataFrame:
    frame = lake.records("row-filter")
    frame = frame[frame["kind"] == kind]
    if frame.empty:
        raise Untestable("the rows of this lake were not looked at for it")
    return frame


def _lengths(lake: LakeResults, reading: str) -> Finding:
    shares = _rows(lake, "length").groupby("bits")["share"].mean()
    cases = [
        above(f"{bits} bits", float(shares[bits]), rules.number(LENGTH, name), percent(shares[bits]))
        for bits, name in ((128, "small"), (512, "large"))
    ]
    return Finding(by_cases(cases, 0).verdict, "; ".join(f"{c.name}: {c.text}" for c in cases), 0, tuple(cases))


def _postings(lake: LakeResults, reading: str) -> Finding:
    share = float(_rows(lake, "postings")["share"].mean())
    wanted, least = (rules.number(POSTINGS, name) for name in ("share", "least"))
    verdict = Verdict.HOLDS if share >= wanted else Verdict.IN_PART if share >= least else Verdict.FAILS
    values, cells = int(_rows(lake, "postings")["checked"].sum()), int(_all_postings(lake))
    return Finding(verdict, f"{percent(share)} of all postings; {number(cells / max(1, values))} per value on average")


def _list_length(lake: LakeResults, reading: str) -> Finding:
    average = _all_postings(lake) / max(1, int(_rows(lake, "postings")["checked"].sum()))
    wanted = rules.number(TWELVE, "items")
    near = within("items per value", average, wanted / HALF, wanted * HALF, (number(average), None))
    return Finding(by_cases((near,), 0).verdict, f"{number(average)} per value", 0, (near,))


def _width(lake: LakeResults, reading: str) -> Finding:
    cases = []
    for name, variant in (("xash", reading), *((rival, "") for rival in ("bf", "ht", "lhbf", "simhash", "md5"))):
        try:
            rates = _covered(lake, "width", variant, name)
        except Untestable:
            continue
        wide = [group for group in rates.index if group in ("11-20", "21+")]
        cases.append(factor(name, _ratio(rates, wide, [group for group in rates.index if group not in wide])))
    found = by_cases(cases, 0)
    return Finding(found.verdict, "; ".join(f"{c.name} {c.text}" for c in cases), 0, found.cases)


def _all_postings(lake: LakeResults) -> int:
    """Return the number of cells with a value, each of which has a posting."""
    lengths = _rows(lake, "length")
    return int(lengths.loc[lengths["bits"] == lengths["bits"].min(), "checked"].sum())


def _lemma(lake: LakeResults, reading: str) -> Finding:
    frame = lake.records("collisions")
    frame = frame[(frame["kind"] == "measured") & (frame["hash"] == "xash")]
    own = frame[frame["variant"] == "paper's alpha"].set_index("bits")["probability"]
    other = frame[frame["variant"] == CORPUS_RARE].set_index("bits")["probability"]
    cases = []
    for bits in sorted(set(own.index) & set(other.index)):
        ratio = float(own[bits] / other[bits]) if other[bits] else float("inf") if own[bits] else 1.0
        case = factor(f"{bits} bits", ratio)
        told = f"{number(other[bits])} by the corpus, {number(own[bits])} by the value"
        cases.append(Case(case.name, ratio, told, case.lean))
    if not cases:
        raise Untestable("XASH by the rare characters of a corpus was not measured")
    return Finding(by_cases(cases, 0).verdict, "; ".join(f"{c.name}: {c.text}" for c in cases), 0, tuple(cases))


def _third_column(lake: LakeResults, reading: str) -> Finding:
    queries = lake.queries("figure6", xash(128, reading))
    table = queries["query"].str.partition(":")[0]
    wide = queries.assign(table=table).pivot_table(index="table", columns="key_columns", values="true_positives")
    wide = wide.astype(float).reindex(columns=[2, 3]).dropna()
    if wide.empty or not wide[2].sum():
        raise Untestable("no table has joinable rows with two and with three key columns")
    gone = float(1 - wide[3].sum() / wide[2].sum())
    drawn = bootstrap.ratios("key size", wide[3].to_numpy(np.float64), wide[2].to_numpy(np.float64))
    samples = None if drawn is None else 1 - np.nan_to_num(drawn, nan=1.0)
    told = f"{percent(gone)}{ranged(samples, percent)} of {number(wide[2].sum())} joinable rows are gone"
    return Finding(reached(gone, rules.number(THIRD, "share"), 1e-9, samples), told, len(wide))


def _fill(lake: LakeResults, reading: str) -> Finding:
    frame = _rows(lake, "fill")
    frame = frame[(frame["bits"] == 128) & frame["hash"].isin(STANDARD)].set_index("hash")["share"]
    wanted, level = (rules.number(FILL, name) for name in ("share", "level"))
    cases = [flag(name, abs(frame[name] - wanted) <= level, percent(frame[name])) for name in STANDARD if name in frame]
    if not cases:
        raise Untestable("no row of six values was hashed with one of the four")
    return Finding(by_cases(cases, 0).verdict, "; ".join(f"{c.name}: {c.text}" for c in cases), 0, tuple(cases))


def _covered(lake: LakeResults, by: str, variant: str, hash_name: str) -> pd.DataFrame:
    frame = _rows(lake, "covered")
    own = frame[(frame["by"] == by) & (frame["bits"] == 128) & (frame["hash"] == hash_name)]
    own = own[own["variant"].fillna("") == variant]
    if own.empty:
        raise Untestable(f"{hash_name} was not probed")
    return own.set_index("group")


def _ratio(frame: pd.DataFrame, groups: list[str], rest: list[str]) -> float:
    """Return how many times as often rows of some groups are covered as those of others."""
    rates = []
    for names in (groups, rest):
        own = frame.loc[[name for name in names if name in frame.index]]
        if not own["checked"].sum():
            raise Untestable("there is no such probe")
        rates.append(float((own["share"] * own["checked"]).sum() / own["checked"].sum()))
    return rates[0] / rates[1] if rates[1] else float("inf") if rates[0] else 1.0


def _short(lake: LakeResults, reading: str) -> Finding:
    most = int(rules.number(SHORT, "short"))
    frame = _covered(lake, "length", reading, "xash")
    short = [name for name in frame.index if int(name.partition("-")[2] or 10**9) <= most]
    rest = [name for name in frame.index if name not in short]
    own, bloom = _ratio(frame, short, rest), _ratio(_covered(lake, "length", "", "bf"), short, rest)
    cases = (
        above("short against longer values", own, rules.number(SHORT, "least"), times(own)),
        flag("more so than for BF", own > bloom, times(bloom)),
    )
    favour = sum(case.lean > 0 for case in cases)
    verdict = (Verdict.FAILS, Verdict.IN_PART, Verdict.HOLDS)[favour]
    return Finding(verdict, f"XASH {times(own)} as often, BF {times(bloom)}", 0, cases)


def _similar(lake: LakeResults, reading: str) -> Finding:
    own = _ratio(_covered(lake, "similar", reading, "xash"), ["similar"], ["other"])
    bloom = _ratio(_covered(lake, "similar", "", "bf"), ["similar"], ["other"])
    ratio = own / bloom if bloom else float("inf") if own else 1.0
    least = rules.number(SIMILAR, "least")
    verdict = Verdict.HOLDS if ratio >= least else Verdict.IN_PART if ratio > 1 else Verdict.FAILS
    return Finding(verdict, f"XASH {times(own)} as often as other rows, BF {times(bloom)}")


CLAIMS = (
    Claim(
        LENGTH,
        "5.3.2",
        '"over 83% of the cell values have at most 17 characters … [512 bits cover] the length of more than 98% of the '
        'cell values"',
        lambda: "83 % within 17 characters, 98 % within 31",
        _lengths,
        ("row-filter",),
    ),
    Claim(
        POSTINGS,
        "7.5.4",
        '"the number of PL items per cell value follows the power-law distribution. There is a small set of values '
        "that have a large number of PL items but most of the values lead to a similar number … (The average number is "
        '12)"',
        lambda: "12 per value on average",
        _postings,
        ("row-filter",),
    ),
    Claim(
        TWELVE,
        "7.5.4",
        '"(The average number is 12)" of posting list items per cell value',
        lambda: "12",
        _list_length,
        ("row-filter",),
    ),
    Claim(
        WIDTH,
        "7.5.1",
        '"this variation in precision [with k] occurs when the candidate tables contain more columns than average": '
        "tested by how much more often rows of more than ten columns pass a filter that should stop them",
        lambda: "no numbers",
        _width,
        ("row-filter",),
        True,
    ),
    Claim(
        LEMMA,
        "5.3.1",
        '"Least frequent characters lead to fewer collisions": proved for the rarest of the alphabet, done with the '
        "rarest inside a value",
        lambda: "proved, not measured",
        _lemma,
        ("collisions",),
    ),
    Claim(
        THIRD,
        "7.5.3",
        '"moving from a composite key with two columns to a three-column key, 97% of the joinable rows become '
        'non-joinable"',
        lambda: "97 % for one table",
        _third_column,
        ("figure6",),
        True,
    ),
    Claim(
        FILL,
        "7.3",
        '"if a table contains six columns the aggregation of six hash results will on average turn 98% of the super '
        'key to 1s"',
        lambda: f"98 % (1 - 0.5^6 = {percent(1 - 0.5**6)})",
        _fill,
        ("row-filter",),
    ),
    Claim(
        SHORT,
        "9",
        '"XASH cannot use its optimal potential if cell values are too short"',
        lambda: "no numbers",
        _short,
        ("row-filter",),
        True,
    ),
    Claim(
        SIMILAR,
        "9",
        '"the false positives caused by XASH were those that are syntactically similar to the actual key values, e.g., '
        'discovering the composite key <brooklyn, cambridge> instead of <brooklyn, bay ridge>"',
        lambda: "one example",
        _similar,
        ("row-filter",),
        True,
    ),
)
