# SPDX-License-Identifier: MIT
"""Closed networks solved as Markov chains: the oracle of the exact models.

Nothing of the theory of queues is used: states are enumerated, the generator is written down and its
stationary vector is found by one sparse solve.
"""

from itertools import product

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve


def closed_network(threads, think, stations):
    """Rate of the cycle think -> station 1 -> station 2 .. -> think, and mean number at each station.

    Each station is a function of k = 1, 2, ..: its rate of departures with k threads there.
    """
    states = [s for s in product(range(threads + 1), repeat=len(stations)) if sum(s) <= threads]
    number = {state: i for i, state in enumerate(states)}
    rows, columns, rates = [], [], []
    through = np.zeros(len(states))
    for state, i in number.items():
        for here in range(-1, len(stations)):
            present = threads - sum(state) if here < 0 else state[here]
            if not present:
                continue
            rate = present / think if here < 0 else stations[here](present)
            after = list(state)
            if here >= 0:
                after[here] -= 1
            if here + 1 < len(stations):
                after[here + 1] += 1
            else:
                through[i] += rate
            j = number[tuple(after)]
            rows += [j, i]
            columns += [i, i]
            rates += [rate, -rate]
    size = len(states)
    # one balance equation follows from the others: the probabilities' sum takes its place
    kept = [k for k in range(len(rows)) if rows[k] != 0]
    rows = [rows[k] for k in kept] + [0] * size
    columns = [columns[k] for k in kept] + list(range(size))
    rates = [rates[k] for k in kept] + [1.0] * size
    balance = csc_matrix((rates, (rows, columns)), shape=(size, size))
    p = spsolve(balance, np.eye(size, 1).ravel())
    return float(p @ through), p @ np.array(states)
