# SPDX-License-Identifier: MIT
"""Which thread is next: a winner tree with one leaf a thread (Knuth, TAOCP 3, 5.4.1).

A key is ``time << bits | thread``, so equal times go by thread id. Node 1 is the least key; leaf of
thread t is node ``len(tree) / 2 + t``. Against a binary heap: the path is known from the thread's
number and has no branch to mispredict, and a thread that waits is taken out where it stands.
"""

from typing import Any

import numpy as np

from lockscale.sim.compiled import compiled

ONE = np.uintp(1)


@compiled
def set_key(tree: Any, thread: Any, key: int) -> None:
    """The thread's next event; NEVER takes it out."""
    node = np.uintp(len(tree) >> 1) + np.uintp(thread)
    tree[node] = key
    while node > ONE:
        other = tree[node ^ ONE]
        key = other if other < key else key
        node >>= ONE
        tree[node] = key
