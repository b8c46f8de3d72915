# SPDX-License-Identifier: MIT
"""Which thread is next: a winner tree with one leaf a thread (Knuth, TAOCP 3, 5.4.1).

A key is ``time << bits | thread``, so equal times go by thread id. Node 1 is the least key; node n
is the least of nodes 4 n to 4 n + 3; the leaf of thread t is node ``len(tree) / 2 + t``. Against a
binary heap: the path is known from the thread's number and has no branch to mispredict, and a
thread that waits is taken out where it stands. Four children, because then the new key waits for
half as many comparisons as with two: the next event cannot begin before the last of them.
"""

from typing import Any

import numpy as np

from lockscale.sim.engine.compiled import compiled

ONE, TWO, THREE = np.uintp(1), np.uintp(2), np.uintp(3)


def tree_size(threads: int) -> int:
    """The length of the tree's array: twice the least power of four that has a leaf for each thread."""
    levels = ((threads - 1).bit_length() + 1) // 2
    return 1 << (2 * levels + 1)


@compiled
def set_key(tree: Any, thread: Any, key: Any) -> Any:
    """The thread's next event; NEVER takes it out. Returns the least key of all, of the next event."""
    node = np.uintp(len(tree) >> 1) + np.uintp(thread)
    tree[node] = key
    while node > ONE:
        least, second, third = tree[node ^ ONE], tree[node ^ TWO], tree[node ^ THREE]
        least = second if second < least else least
        least = third if third < least else least
        key = least if least < key else key
        node >>= TWO
        tree[node] = key
    return key
