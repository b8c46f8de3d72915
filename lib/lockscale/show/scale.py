# SPDX-License-Identifier: MIT
"""Fitted models swept to more CPUs than anybody published: where a kernel's paths saturate next.

Every arm of every path at every number of CPUs, at the best parameters and at draws of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lockscale import paths
from lockscale.errors import BadInput
from lockscale.files import write_text
from lockscale.progress import progress
from lockscale.show.scoreboard import kept_scoreboard
from lockscale.sim import load_model
from lockscale.sim.executors import Client
from lockscale.sim.sweep import key_of, version_of
from lockscale.studies.hooks import MOST, SweptPath, Values, draws
from lockscale.sweeps import sweep_points
from lockscale.tables import published
from lockscale.text_table import text_table

THREADS = tuple(2**k for k in range(MOST.bit_length()))
DRAWS = 20
FEWEST, EACH = 12_000, 4  # operations counted: at least, and of each thread
FOLDER = paths.CACHE / "scale"
KEPT = paths.DATA / "scale.csv"
SLOPE_AT = 2  # threads: where others are met for the first time


def scale_study(
    swept: Sequence[SweptPath],
    client: Client | None = None,
    threads: Sequence[int] = THREADS,
    count: int = DRAWS,
) -> pd.DataFrame:
    """Long form: path, arm, threads, metric, unit, value, low, high, draws, table, published_to, origin,
    most_time_at, share_pct.

    value: at the best parameters; low and high: the least and the most of the draws, between which (k - 1) /
    (k + 1) of further ones lie, 90% with 20; draws: all of them; published_to: the most threads of the table.
    metric `saturates_at` (threads 0): N* = X_max / (X(2) / 2), the threads at which the asymptotes of the
    curve cross (P. J. Denning and J. P. Buzen, ACM Computing Surveys 10(3), 1978). Finished points are kept
    in the cache by the version of simulator and model, so that an interrupted study goes on.
    """
    fits = {row["table"]: row["logs"] for row in kept_scoreboard() if row.get("logs")}
    of_arms: list[dict[str, Any]] = []
    with progress("scale study", len(swept) * len(threads)) as shown:
        for k, path in enumerate(swept):
            if path.table not in fits:
                raise BadInput(
                    f"the scoreboard has no fit of {path.table}: make it with `lockscale scoreboard --keep`"
                )
            sets = draws(fits[path.table], count, path.more)
            for j, n in enumerate(threads):
                shown.update(k * len(threads) + j, f"{path.name}, {n} CPUs")
                of_arms += _at(path, n, sets, client)
    rows = [
        _row(one, "throughput", one["threads"], one["path"].unit, one["rates"])
        | {"most_time_at": one["bottleneck"].name, "share_pct": round(100 * one["bottleneck"].share, 1)}
        for one in of_arms
    ]
    return pd.DataFrame([*rows, *_saturations(of_arms)])


def _at(path: SweptPath, threads: int, sets: Sequence[Values], client: Client | None) -> list[dict[str, Any]]:
    """Of each arm the rates of all sets, in the path's unit, and where the threads are with the best one."""
    model = load_model(path.model)
    wanted = {
        name: [model.bind(arm.given(threads, sets[0], one)) for one in sets]
        for name, arm in path.arms.items()
        if threads <= arm.most
    }
    design = {key_of(one, threads): one for of_arm in wanted.values() for one in of_arm}
    operations = max(FEWEST, EACH * threads)
    name = f"{path.name.replace(' ', '-')}-{threads}-{operations}-{version_of(model)[:12]}"
    points = sweep_points(
        model, [threads], list(design.values()), replications=1, operations=operations, client=client,
        keep=FOLDER / f"{name}.jsonl",
    )  # fmt: skip
    found = dict(zip(design, points, strict=True))
    return [
        {
            "path": path,
            "arm": name,
            "threads": threads,
            "rates": [found[key_of(one, threads)]["value"] / path.unit_per_s for one in of_arm],
            "bottleneck": most_of(found[key_of(of_arm[0], threads)], operations, path.repeated),
        }
        for name, of_arm in wanted.items()
    ]


def _row(
    one: Mapping[str, Any], metric: str, threads: int, unit: str, values: Sequence[float]
) -> dict[str, Any]:
    """Near a storm some draws are in it and others not: no mean with a width says that, the draws do."""
    shown = [f"{value:.5g}" for value in values]
    return {
        "path": one["path"].name,
        "arm": one["arm"],
        "threads": threads,
        "metric": metric,
        "unit": unit,
        "value": float(shown[0]),
        "low": min(map(float, shown)),
        "high": max(map(float, shown)),
        "draws": " ".join(shown[1:]),
        "table": one["path"].table,
        "published_to": int(published(one["path"].table).threads.max()),
        "origin": "simulated",
    }


def _saturations(of_arms: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """One for each arm that was swept at SLOPE_AT."""
    for at in (one for one in of_arms if one["threads"] == SLOPE_AT):
        rates = [one["rates"] for one in of_arms if (one["path"], one["arm"]) == (at["path"], at["arm"])]
        crossing = np.max(rates, axis=0) / (np.array(at["rates"]) / SLOPE_AT)
        yield _row(at, "saturates_at", 0, "threads", crossing.tolist())


class Bottleneck(NamedTuple):
    """A lock waited for, a line waited for and moved, or a step repeated; the threads' share, 0 to 1."""

    name: str
    share: float


AT_WORK = "at work"


def most_of(point: Mapping[str, Any], operations: int, repeated: Mapping[str, str]) -> Bottleneck:
    """Where most threads are, by Little's law: threads = rate x time a visit.

    `operations`: counted in the point; `repeated`: as a `SweptPath` has it. Where fewer than a tenth of them
    are at one, they are at work.
    """
    per_ns = point["value"] / 1e9 / operations / point["threads"]
    shares = {AT_WORK: 0.0}
    for name, one in point["locks"].items():
        shares[name] = one["acquisitions"] * (one["wait_ns_mean"] or 0.0)
    for name, one in point["lines"].items():
        shares[name] = one["operations"] * ((one["wait_ns_mean"] or 0.0) + (one["cost_ns_mean"] or 0.0))
    for name, cost in repeated.items():
        looks = point["calls_per_op"].get(name, 0.0)
        shares[f"{name}, again"] = operations * max(looks - 1, 0.0) * point["parameters"].get(cost, 0.0)
    name = max(shares, key=lambda one: shares[one])
    share = per_ns * shares[name]
    return Bottleneck(name, share) if share >= 0.1 else Bottleneck(AT_WORK, 1 - per_ns * sum(shares.values()))


def keep_scale(found: pd.DataFrame) -> None:
    write_text(KEPT, found.to_csv(index=False))


def scale_text(found: pd.DataFrame) -> str:
    """Where each arm saturates and is held up with the most CPUs, its rates, and of which of them more is to
    be said; the draws themselves are in --json."""
    rates, knees = (found[found.metric == name] for name in ("throughput", "saturates_at"))
    of_arm = ["path", "arm"]
    last = rates.loc[rates.groupby(of_arm, sort=False).threads.idxmax()]
    knees = last[[*of_arm, "threads", "most_time_at", "share_pct"]].merge(
        knees[[*of_arm, "value", "low", "high"]], on=of_arm, how="left"
    )
    knees.loc[knees.value > knees.threads, ["value", "low", "high"]] = np.nan
    names = {"value": "saturates at", "threads": "most CPUs", "most_time_at": "there most time in"}
    order = [*of_arm, "saturates at", "low", "high", "most CPUs", "there most time in", "share %"]
    table = rates.pivot(index=[*of_arm, "unit"], columns="threads", values="value")
    each = table.reindex(pd.MultiIndex.from_frame(last[[*of_arm, "unit"]])).map(_short).reset_index()
    return "\n".join(
        [
            "Threads at which each path saturates, least and most of the draws; -: not up to the most CPUs",
            text_table(knees.rename(columns={**names, "share_pct": "share %"})[order]),
            "Rates by threads; k: thousands, M: millions",
            text_table(each.rename(columns=str)),
            *_remarks(rates),
            "simulated",
        ]
    )


APART = 2.0  # times between the most and the least of the draws
RISES = 1.1  # times: more than two simulations of one model differ by


def _remarks(rates: pd.DataFrame) -> Iterator[str]:
    """Of rates that the draws do not agree on, and of curves of which N* is that of a second rise."""
    unsure = rates[rates.high > APART * rates.low]
    for at in unsure[["path", "arm", "threads", "low", "high"]].to_dict("records"):
        ends = f"{_short(at['low'])} to {_short(at['high'])}"
        yield f"{at['path']}, {at['arm']} at {at['threads']} threads: the draws do not agree, {ends}"
    for (path, arm), curve in rates[rates.threads >= SLOPE_AT].groupby(["path", "arm"], sort=False):
        flat = curve[curve.value < RISES * curve.value.shift()]
        if flat.empty:
            continue
        first = curve.loc[: flat.index[0]].value.max()
        again = curve.loc[flat.index[0] :][lambda rest, first=first: rest.value > RISES * first]
        if len(again):
            before = curve.threads[curve.threads < again.threads.iloc[0]].max()
            yield (
                f"{path}, {arm}: {_short(first)} at most until {before} threads, more again from"
                f" {again.threads.iloc[0]} on; `saturates at` is of the most, {_short(again.value.max())}"
            )


def _short(rate: float) -> str | None:
    """Three digits that count."""
    if np.isnan(rate):
        return None
    rate = float(f"{rate:.3g}")  # 999.6 thousand are a million
    for least, unit in ((1e6, "M"), (1e3, "k")):
        if rate >= least:
            return f"{rate / least:.3g}{unit}" if rate < 1e3 * least else f"{rate / least:.0f}{unit}"
    return f"{rate:.3g}"


FROM_THREADS = 64  # below, no path of ext4 saturates
SHOWN = ["arm", "threads", "value", "low", "high", "most_time_at", "share_pct"]


def most_time(found: pd.DataFrame, path: str) -> pd.DataFrame:
    """Where the CPUs of each arm of a path spend their time, from FROM_THREADS on. BadInput for no path."""
    if path not in set(found.path):
        raise BadInput(f"no path {path!r} was swept (known: {', '.join(sorted(set(found.path)))})")
    return found[(found.path == path) & (found.threads >= FROM_THREADS)][SHOWN]


def kept_scale() -> pd.DataFrame:
    """Those rows; raises BadInput where the file cannot be read."""
    try:
        return pd.read_csv(KEPT)
    except (OSError, ValueError) as error:
        raise BadInput(f"{KEPT} cannot be read: make it with `lockscale scale --keep`") from error
