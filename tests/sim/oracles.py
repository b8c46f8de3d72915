# SPDX-License-Identifier: MIT
"""Queueing theory worked out without the simulator: what its exact tests compare with.

Times are in one unit throughout, rates in its inverse. Every sum and product below has positive
terms only, so nothing cancels: relative errors stay below 1e-11 for 1024 threads.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from scipy.stats import nbinom, poisson

Floats = NDArray[np.float64]
Phase = tuple[str, float]
Service = Callable[[int], Sequence[Phase]]


def mean_value_analysis(
    populations: Sequence[int], thinks: Sequence[float], demands: Sequence[Sequence[float]]
) -> tuple[Floats, Floats]:
    """Exact rate of each class and mean number at each station, of a closed product-form network.

    ``demands[r][k]`` is visits x mean service of class r at station k. FIFO stations must be
    exponential with one mean for all classes (BCMP); think times may have any distribution.
    Cost: product of the populations. Source: Reiser and Lavenberg, J. ACM 27(2), 1980.
    """
    queues = {(0,) * len(populations): np.zeros(len(demands[0]))}
    rates = np.zeros(len(populations))
    for population in product(*(range(n + 1) for n in populations)):
        numbers = np.zeros(len(demands[0]))
        for r, n in enumerate(population):
            if n > 0:  # an arrival sees the network with one thread of its class fewer
                response = np.array(demands[r]) * (1 + queues[_one_less(population, r)])
                rates[r] = n / (thinks[r] + response.sum())
                numbers += rates[r] * response
        queues[population] = numbers
    return rates, queues[tuple(populations)]


def _one_less(population: tuple[int, ...], r: int) -> tuple[int, ...]:
    return (*population[:r], population[r] - 1, *population[r + 1 :])


def birth_death(births: Sequence[float], deaths: Sequence[float]) -> Floats:
    """Stationary probabilities of states 0..n; births[k] leads k to k + 1, deaths[k] leads back."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(births) - np.log(deaths))])
    return np.exp(logs - logsumexp(logs))


def boyd_wickizer(threads: int, think: float, serial: float, line: float) -> tuple[float, float]:
    """Rate and mean number of contenders (holder included) of the published ticket-lock chain.

    State k: k cores hold or wait. From k to k + 1 at rate (n - k) / a; from k + 1 to k at rate
    s_k = 1 / (s + c k / 2), with k the cores that wait *now*: each arrival slows the service that
    is going on. Source: S. Boyd-Wickizer, M. F. Kaashoek, R. Morris and N. Zeldovich,
    "Non-scalable locks are dangerous", Linux Symposium 2012, section 3.
    """
    births = [(threads - k) / think for k in range(threads)]
    deaths = [1 / (serial + line * k / 2) for k in range(threads)]
    p = birth_death(births, deaths)
    return float(p[1:] @ np.array(deaths)), float(p @ np.arange(threads + 1))


def machine_repairman(threads: int, think: float, service: float) -> tuple[float, float]:
    """Rate and mean number at the lock of M/M/1//N, from its birth-death chain."""
    births = [(threads - k) / think for k in range(threads)]
    p = birth_death(births, [1 / service] * threads)
    return float(p[1:].sum()) / service, float(p @ np.arange(threads + 1))


def lock_of_one_class(threads: int, think: float, service: Service) -> float:
    """Exact rate of N exponential thinkers and one lock whose service is fixed when it starts.

    ``service(k)`` are the phases, ("fixed" or "exponential", mean), of a service that starts with
    k threads at the lock; k = 0 means that the lock was idle and one thread has just come. Markov
    chain embedded at the ends of service (Kendall 1953): state = threads left at the lock.
    """
    transitions = np.zeros((threads, threads))
    lengths = np.zeros(threads)
    for left in range(threads):
        served = max(left, 1)
        phases = service(left)
        arrivals = np.zeros(threads)
        arrivals[0] = 1.0
        for phase in phases:
            arrivals = arrivals @ _arrivals(threads, threads - served, think, phase)
        transitions[left, served - 1 :] = arrivals[: threads - served + 1]
        lengths[left] = sum(mean for _, mean in phases) + (think / threads if left == 0 else 0)
    return float(1 / (_stationary(transitions) @ lengths))


def ticket_lock(threads: int, think: float, serial: float, line: float) -> float:
    """Rate of Boyd-Wickizer's lock when a service keeps the mean that it started with.

    k threads wait at a release, the heir among them: its service has mean s + c k / 2, whoever
    comes later. Exponential like theirs.
    """
    return lock_of_one_class(threads, think, lambda k: [("exponential", serial + line * k / 2)])


def _arrivals(size: int, thinking: int, think: float, phase: Phase) -> Floats:
    """[i, j]: probability that after the phase j of the thinkers have come, i having come before."""
    kind, mean = phase
    table = np.eye(size)
    for came in range(thinking + 1):
        left = thinking - came
        more = np.arange(left + 1)
        if mean == 0 or left == 0:
            continue
        if kind == "fixed":
            ways = gammaln(left + 1) - gammaln(more + 1) - gammaln(left - more + 1)
            logs = ways + more * np.log(-np.expm1(-mean / think)) - (left - more) * mean / think
        else:  # the phase's end races with the thinkers: it is overtaken or not, one at a time
            odds = (left - more) * mean / think
            overtaken = np.concatenate([[0.0], np.cumsum(np.log(odds[:-1]) - np.log1p(odds[:-1]))])
            logs = overtaken - np.log1p(odds)
        table[came, came : thinking + 1] = np.exp(logs)
    return table


def _stationary(transitions: Floats) -> Floats:
    """Stationary distribution by state reduction: no subtraction (Grassmann, Taksar, Heyman 1985)."""
    p = transitions.copy()
    last = len(p) - 1
    for n in range(last, 0, -1):
        p[:n, n] /= p[n, :n].sum()
        p[:n, :n] += np.outer(p[:n, n], p[n, :n])
    weight = np.zeros(last + 1)
    weight[0] = 1.0
    for n in range(1, last + 1):
        weight[n] = weight[:n] @ p[:n, n]
        weight /= weight[: n + 1].max()  # a saturated lock hardly ever knows the low states
    return weight / weight.sum()


def deterministic_cycle(threads: int, think: int, service: int) -> Fraction:
    """Rate of N threads that think and hold for fixed times: the lock's, or all threads' own."""
    return min(Fraction(threads, think + service), Fraction(1, service))


def pollaczek_khinchine(rate: float, service: float, variation: float) -> float:
    """Mean wait in M/G/1; ``variation`` is the service time's variance over its squared mean."""
    busy = rate * service
    return busy * service * (1 + variation) / (2 * (1 - busy))


def wait_from_departures(rate: float, service: float, variation: float) -> float:
    """Mean wait in M/G/1 with gamma (or fixed) service, from the chain of numbers left behind.

    A gamma service sees a negative binomial number of arrivals, a fixed one a Poisson number. The
    queue's probabilities follow by Ramaswami's recursion, their mean gives the wait by Little.
    """
    busy = rate * service
    states = np.arange(4000)
    if variation == 0:
        beyond = poisson.sf(states, busy)
        none = np.exp(-busy)
    else:
        law = nbinom(1 / variation, 1 / (1 + busy * variation))
        beyond, none = law.sf(states), law.pmf(0)
    left = np.zeros(len(states))
    left[0] = 1 - busy
    for n in range(1, len(states)):  # cut level n: up-crossings from below equal down-crossings
        up = left[0] * beyond[n - 1] + left[1:n] @ beyond[n - 1 : 0 : -1]
        left[n] = up / none
    return float(left @ states) / rate - service


def waits_above(time: float, rate: float, service: float) -> float:
    """Fraction of waits longer than ``time`` in M/M/1."""
    return rate * service * float(np.exp(-(1 / service - rate) * time))


def populations_up_to(largest: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 12, ...: powers of two and the means between them."""
    n = 1
    while n <= largest:
        yield n
        if 2 < 3 * n // 2 <= largest and n > 1:
            yield 3 * n // 2
        n *= 2
