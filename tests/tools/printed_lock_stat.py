# SPDX-License-Identifier: MIT
"""/proc/lock_stat as the kernel prints it: its formatting written again from its source, and some classes."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

WIDTH = 40 + 1 + 12 * (14 + 1)
TITLES = ["waittime-min", "waittime-max", "waittime-total", "waittime-avg"]
HEADER = "lock_stat version 0.4\n" + "-" * WIDTH + "\n"
HEADER += f"{'class name':>40} {'con-bounces':>14} {'contentions':>14} " + " ".join(
    f"{t:>14}" for t in TITLES
)
HEADER += f" {'acq-bounces':>14} {'acquisitions':>14} "
HEADER += " ".join(f"{t.replace('wait', 'hold'):>14}" for t in TITLES) + "\n" + "-" * WIDTH + "\n\n"


@dataclass(frozen=True)
class LockTime:
    """struct lock_time in nanoseconds."""

    nr: int = 0
    low: int = 0
    high: int = 0
    total: int = 0

    def printed(self):
        """seq_lock_time() and snprint_time() of kernel/locking/lockdep_proc.c."""
        mean = self.total // self.nr if self.nr else 0
        return [
            f"{(ns + 5) // 1000}.{(ns + 5) % 1000 // 10:02d}"
            for ns in (self.low, self.high, self.total, mean)
        ]

    def __str__(self):
        return f"{self.nr:14d}" + "".join(f" {text:>14}" for text in self.printed())


@dataclass(frozen=True)
class Class:
    """struct lock_class with its statistics; a mode is (con_bounces, waits, acq_bounces, holds)."""

    name: str
    write: tuple = (0, LockTime(), 0, LockTime())
    read: tuple = (0, LockTime(), 0, LockTime())
    waiters: dict = field(default_factory=dict)
    holders: dict = field(default_factory=dict)

    def __str__(self):
        """seq_stats() of kernel/locking/lockdep_proc.c."""
        written, was_read = self.write[3].nr, self.read[3].nr
        out = (
            self._row(f"{self.name:>38}-W" if was_read else f"{self.name:>40}", self.write) if written else ""
        )
        out += self._row(f"{self.name:>38}-R", self.read) if was_read else ""
        if not self.write[1].nr + self.read[1].nr:
            return out
        length = len(self.name) + (2 if was_read else 0)
        for places in (self.waiters, self.holders):
            out += (" " * (40 - length) + "-" * length + "\n") if places else ""
            for symbol, count in places.items():
                out += f"{self.name:>40} {count:14d} {'[<000000004b1dcafe>]':>29} {symbol}\n"
        return out + ("\n" + "." * WIDTH + "\n\n" if self.holders else "")

    @staticmethod
    def _row(name, mode):
        return f"{name}:{mode[0]:14d} {mode[1]} {mode[2]:14d} {mode[3]}\n"


def plain_file(classes):
    return HEADER + "".join(str(one) for one in classes)


def as_read(classes):
    """What READ prints."""
    text = plain_file(classes)
    return text + f"lines {text.count(chr(10))}\n"


def kernel_times(*ns):
    return LockTime(len(ns), min(ns), max(ns), sum(ns))


GROUP_LOCK = Class(
    "&(&bgl->locks[i].lock)->rlock",
    (112, kernel_times(210, 49_240, 1_000), 300, kernel_times(120, 624_310, 480, 480)),
    waiters={"__ext4_new_inode+0x8a1/0x1570": 2, "ext4_free_inode+0x2c5/0x6b0 [ext4]": 1},
    holders={"__ext4_new_inode+0x8a1/0x1570": 3},
)
DATA_SEM = Class(
    "&ei->i_data_sem/2#3",
    (1, kernel_times(940), 5, kernel_times(2_774, 100)),
    (0, kernel_times(310), 7, kernel_times(90, 94, 95)),
    waiters={"ext4_map_blocks+0x1c2/0x620": 2},
    holders={"ext4_truncate+0x1ee/0x4b0": 2},
)
QUIET = Class("(wq_completion)ext4-rsv-conversion", (0, LockTime(), 2, kernel_times(55_004)))
FILE = as_read([GROUP_LOCK, DATA_SEM, QUIET])

times = st.lists(st.integers(0, 10**13), max_size=4).map(lambda ns: kernel_times(*ns) if ns else LockTime())
modes = st.tuples(st.integers(0, 10**9), times, st.integers(0, 10**9), times)
names = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["&", "(", "*", "a"]),
    st.text("ab_&>()*:./[-1", max_size=30),
    st.sampled_from(["k", ")", "]", "a b"]),
    st.sampled_from(["", "#2", "/1"]),
)
symbols = st.builds(
    "f{}+0x{:x}/0x7f0{}".format,
    st.text("ab_", max_size=9),
    st.integers(0, 999),
    st.sampled_from(["", " [ext4]"]),
)
places = st.dictionaries(symbols, st.integers(1, 10**9), min_size=1, max_size=4)
tables = st.lists(
    st.builds(Class, names, modes, modes, places, places), max_size=4, unique_by=lambda one: one.name
)

WRONG = ["nan", "inf", "*", "-", "", "-1", "9" * 400, "1e9", "1.234,56", "12,5", "1.5", "٣"]
"""What stands where a number should, none of which a kernel prints there."""


def lines_of(text):
    return text.removeprefix(HEADER).splitlines(keepends=True)
