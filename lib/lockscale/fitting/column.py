# SPDX-License-Identifier: MIT
"""One curve of a table: rate against thread count."""

from dataclasses import dataclass, replace

from lockscale.errors import BadInput
from lockscale.queueing.columns import FloatArray


@dataclass(frozen=True)
class Column:
    """threads, rates_per_s: shape (rows,); rows of one thread count are repeats.

    runs: number of runs behind each row, or None where each row is one. origin: `published`,
    `simulated`, `qemu`, `hardware`, or `not stated`. made_of says how rates came from printed numbers
    where they are not those numbers. given: the same work without the change, at the same thread counts;
    the models are then those of one column given another.
    """

    table: str
    name: str
    threads: FloatArray
    rates_per_s: FloatArray
    runs: FloatArray | None
    unit: str
    origin: str
    made_of: str = ""
    given: "Column | None" = None

    def __str__(self) -> str:
        how = f"; {self.made_of}" if self.made_of else ""
        return f"{self.table}, {self.name} ({self.unit or 'operations/s assumed'}; {self.origin}{how})"

    def between(self, n_min: int, n_max: int | None) -> "Column":
        """Only thread counts from n_min to n_max. Raises BadInput where none is left."""
        last = float("inf") if n_max is None else n_max
        used = (self.threads >= n_min) & (self.threads <= last)
        if used.all():
            return self
        if not used.any():
            span = f"from {n_min}" if n_max is None else f"from {n_min} to {n_max}"
            raise BadInput(f"{self.table}, {self.name} has no thread counts {span}: choose others")
        runs = None if self.runs is None else self.runs[used]
        given = self.given and self.given.between(n_min, n_max)
        return replace(
            self, threads=self.threads[used], rates_per_s=self.rates_per_s[used], runs=runs, given=given
        )
