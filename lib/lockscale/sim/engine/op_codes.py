# SPDX-License-Identifier: MIT
"""The codes of an op, one step of a path each; what each does is its branch in ``run_ops.run``."""

SPEND, SLEEP = range(2)
LOCK, TRYLOCK, UNLOCK, READ_LOCK, READ_UNLOCK = range(2, 7)
# cache lines: an atomic operation, a read, what was read, and whether it is still so
RMW, READ, SNAPSHOT, COMPARE = range(7, 11)
# bitmaps, and blocks of slots
FIND_ZERO, CLAIM = range(11, 13)
RESERVE, FIND_SLOT, TAKE_SLOT, FREE_SLOT = range(13, 17)
# gates
ENTER, ENTERED, LEAVE = range(17, 20)
# a place among shards
PICK_OWN, PICK_CPU, PICK_NEXT, PICK_RANDOM, PICK_HASH, LOAD, STORE = range(20, 27)
# the way through the path
RETRY_IF_LOST, SKIP_IF_WON, SKIP_IF_SAME, SKIP_BY_CHANCE, SKIP_UNTIL, SKIP_IF_FREE, JUMP = range(27, 34)
RESET, LOOP, DONE = range(34, 37)
