# SPDX-License-Identifier: MIT
"""One column given another: what a change adds to each operation, on one machine.

The reference column b (the same work without the change) is measured at the same thread counts, so
whatever shapes both curves need not be modelled. In times T = N / X of N threads that each do the
same work:

    paired_serial           T_a = T_b + N a                 one at a time, under a lock
    paired_parallel         T_a = T_b + p + N a             and a part p that all do at once
    paired_power            T_a = T_b + a N^b               between both, or growing: empirical
    paired_remote           T_a = T_b + N (a + r share(N))  the lock also crosses cache domains
    paired_remote_at_peak   the same, M the reference's own peak
    paired_demand           T_a = T_b X(N; z, 1) / X(N; z, k)   one demand of k times the length

share(N) = 1 - (M - 1)/(N - 1) for N > M, else 0: the chance that the next of the other N - 1 owners is
not one of the M - 1 that share my domain. X(N; z, d) is the machine repairman with think time z and
demand d, both in demands of the reference. Derived here.

Assumed: nothing else differs between the columns; the added cost does not overlap the reference's
own waits (paired_demand: it is part of them). Only ratios of rates count, so the unit of work may be
unknown; a, p and r are seconds for each unit of N/T. The reference is measured too: its noise, the
same share of a rate as the column's own, is added to that of each point (effective variance: J. Orear,
American J. Physics 50, 1982, p. 912). Its values are not parameters, for none of them is adjusted; nor
is M at the peak, which the reference alone decides. Domain: thread counts of the reference only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockscale.errors import BadInput
from lockscale.queueing.laws.machine_repairman import MACHINE_REPAIRMAN
from lockscale.queueing.model import Box, FloatArray, LawParameter
from lockscale.queueing.points import Points, points

Cost = Callable[[FloatArray, Mapping[str, float]], FloatArray]


@dataclass(frozen=True)
class Paired:
    """A model of a column given a reference; has the face that `fit` and `compare` ask for.

    cost: seconds added to each operation, shape (n,); or, if `scales`, the factor of its time.
    """

    name: str
    parameters: tuple[LawParameter, ...]
    reference: Points
    cost: Cost
    box: Callable[[FloatArray, FloatArray], Box]
    scales: bool = False
    broadcasts: bool = True

    def rate(self, threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
        """Rate per second, shape (n,). Raises BadInput where the reference was not measured."""
        known = self._known(threads)
        cost = self.cost(threads, params)
        return known / cost if self.scales else known / (1 + known * cost)

    def search_box(self, threads: FloatArray, rates: FloatArray) -> Box:
        return self.box(threads, np.abs(1 / rates - 1 / self._known(threads)))

    def added_variance(self, threads: FloatArray, rates: FloatArray) -> FloatArray:
        """What the reference's noise adds to ln(rate), in variances of one run of the column."""
        passed_on = 1.0 if self.scales else np.minimum(rates / self._known(threads), 1.0)
        return passed_on**2 / self.reference.weight[self._place(threads)]

    def _known(self, threads: FloatArray) -> FloatArray:
        return self.reference.rate_per_s[self._place(threads)]

    def _place(self, threads: FloatArray) -> npt.NDArray[np.intp]:
        measured = self.reference.threads
        place = np.minimum(np.searchsorted(measured, threads), len(measured) - 1)
        if (missing := threads[measured[place] != threads]).size:
            raise BadInput(
                f"the reference column has no row with {missing[0]:g} threads: measure it there, or leave "
                "that thread count out."
            )
        return place


def paired_models(
    threads: npt.ArrayLike, values: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> tuple[Paired, ...]:
    """Every paired model of a column given this reference; arguments as of `points`.

    `compare_models((n, rates), paired_models(n, reference))` is one column given another.
    """
    reference = points(threads, values, weights=weights)
    peak = float(reference.threads[reference.log_rate.argmax()])
    serial = LawParameter("a_s", "s")
    power = (serial, LawParameter("b", "1", high=4.0))
    remote = (serial, LawParameter("r_s", "s"))
    domain = LawParameter("M_threads", "1", low=1.0, positive=True)
    demand = (LawParameter("z", "1"), LawParameter("k", "1", positive=True))
    at_peak: Cost = lambda n, p: _remote(n, {**p, "M_threads": peak})  # noqa: E731
    return (
        Paired("paired_serial", (serial,), reference, _serial, _costs),
        Paired("paired_parallel", (serial, LawParameter("p_s", "s")), reference, _parallel, _costs),
        Paired("paired_power", power, reference, _power, _costs),
        Paired("paired_remote", (*remote, domain), reference, _remote, _costs),
        Paired("paired_remote_at_peak", remote, reference, at_peak, _costs),
        Paired("paired_demand", demand, reference, _demand, _ratios, scales=True),
    )


def _serial(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return params["a_s"] * np.ones_like(threads)


def _parallel(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return params["a_s"] + params["p_s"] / threads


def _power(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    return np.asarray(params["a_s"] * threads ** (params["b"] - 1))


def _remote(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    near = (params["M_threads"] - 1) / np.maximum(threads - 1, 1)
    return params["a_s"] + params["r_s"] * np.maximum(np.where(threads > 1, 1 - near, 0.0), 0.0)


def _demand(threads: FloatArray, params: Mapping[str, float]) -> FloatArray:
    before = MACHINE_REPAIRMAN.rate(threads, {"Z_us": params["z"], "s_us": 1.0})
    return before / MACHINE_REPAIRMAN.rate(threads, {"Z_us": params["z"], "s_us": params["k"]})


def _costs(threads: FloatArray, added_s: FloatArray) -> Box:
    longest = max(float(added_s.max()), 1e-12)
    cost = (1e-3 * longest, 2 * longest)
    most = float(threads.max())
    return {
        "a_s": cost,
        "p_s": (cost[0], cost[1] * most),
        "r_s": cost,
        "b": (0.2, 3.0),
        "M_threads": (1.0, max(2.0, most)),
    }


def _ratios(threads: FloatArray, added_s: FloatArray) -> Box:
    return {"z": (1e-2, 10 * float(threads.max())), "k": (0.1, 100.0)}
