# SPDX-License-Identifier: MIT
"""S3, Baokun Li's block allocation patches: what the fallocate2 table claims."""

from collections.abc import Callable

from lockscale.tables.claim import AuditRow, judged, row
from lockscale.tables.datapackage import printed_points, published
from lockscale.tables.intervals import Interval
from lockscale.tables.percentages import change, how_printed
from lockscale.tables.unstated import Gap, unstated

TABLE = "s3_fallocate2"


def _rates() -> tuple[dict[tuple[str, int], str], bool]:
    """The printed rates by arm and containers, and whether the table's caption calls them per container."""
    captions = set(published(TABLE).query("unit == 'ops/s'")["statistic"])
    rates = {at: text for caption in captions for at, text in printed_points(TABLE, caption).items()}
    return rates, captions == {"mean_per_container"}


def _base_per_s() -> tuple[dict[int, float], bool]:
    rates, per_container = _rates()
    return {n: float(text) for (arm, n), text in rates.items() if arm == "wait-group"}, per_container


def aggregate_is_lower() -> AuditRow:
    """The letter: 'much lower aggregate fallocate OPS compared to a single container'."""
    base, per_container = _base_per_s()
    ratios = {n: (n if per_container else 1) * rate / base[1] for n, rate in base.items() if n > 1}
    found = Interval(ratios[max(base)], min(ratios.values()), max(ratios.values()))
    claim = "base: aggregate ops/s on many containers are below those on one"
    note = f"aggregate at {max(base)} containers over that at 1; low and high: the extremes over all counts"
    return row(TABLE, claim, 1.0, found, "x", judged(found.high < 1), note)


def numbers_are_aggregate() -> AuditRow:
    """The letter prints the base row under its text on aggregate OPS, and again per container."""
    base, per_container = _base_per_s()
    claim = "the numbers are aggregate ops/s, as the letter's text says"
    said = "per container, which is how they are read here" if per_container else "aggregate too"
    note = f"the table's caption says {said}; {max(base)} containers over 1 if they were aggregate"
    return row(TABLE, claim, None, base[max(base)] / base[1], "x", judged(not per_container), note)


def changes() -> list[AuditRow]:
    """Every percentage against the rates of its arm and of the base."""
    rates, _ = _rates()
    found = [
        change(f"{arm} at {n}", text, rates["wait-group", n], rates[arm, n])
        for (arm, n), text in printed_points(TABLE, "vs_base").items()
    ]
    return how_printed(TABLE, found)


def audit_table() -> list[AuditRow]:
    lost = ", ".join(text for (_, n), text in printed_points(TABLE, "vs_base").items() if n == 1)
    return [
        aggregate_is_lower(),
        numbers_are_aggregate(),
        *changes(),
        *unstated(
            TABLE,
            Gap(
                "the main bottleneck is ext4_lock_group()",
                "rates with the first patch only",
                "arm",
                "trylock",
            ),
            Gap(f"one container loses speed ({lost})", "the spread of repeats", "statistic", "single"),
        ),
    ]


CLAIMS: dict[str, Callable[[], list[AuditRow]]] = {TABLE: audit_table}
