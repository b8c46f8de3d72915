# SPDX-License-Identifier: MIT
"""A synthetic kernel: the retry storm's model with hidden parameters, and the files that its base leaves."""

import math
import random
from dataclasses import dataclass
from pathlib import Path

from lockscale.sim import Result, simulate

ACCESS = "jbd2_journal_get_write_access"
CREATES = 100_000
OPERATIONS = 20_000
NOISE = 0.02  # relative, of one measured rate
REPEATS = 3


@dataclass(frozen=True)
class Kernel:
    """Hidden parameters, the thread counts at which its base was measured, and calls of a lone create."""

    hidden: dict[str, float]
    threads: list[int]
    calls_alone: float
    seed: int

    def run(self, threads: int, **switches: bool) -> Result:
        given = {**self.hidden, **switches}
        return simulate(
            "inode_claim",
            threads,
            given,
            operations=OPERATIONS,
            replications=2,
            seed=1000 + self.seed,
            workers=1,
        )

    def patched_per_s(self) -> float:
        return self.run(self.threads[-1], search_locked=True).rate_per_s

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The profile, as funccost prints it, and the rates with their noise."""
        noise = random.Random(-self.seed)
        lines = ["threads,value"]
        for n in self.threads:
            run = self.run(n)
            lines += [f"{n},{run.rate_per_s * math.exp(noise.gauss(0, NOISE))}" for _ in range(REPEATS)]
        (folder / "rates.csv").write_text("\n".join(lines) + "\n")
        (folder / "profile.txt").write_text(self._profile(run))
        return folder / "profile.txt", folder / "rates.csv"

    def _profile(self, run: Result) -> str:
        attempts = run.attempts_per_op
        rows = {
            "ext4_create": (CREATES, 1e6 * run.threads / run.rate_per_s),
            "_raw_spin_lock": (attempts * CREATES, (run.locks["group lock"].wait_ns_mean or 0.0) / 1e3),
            ACCESS: ((attempts + self.calls_alone - 1) * CREATES, self.hidden["access_ns"] / 1e3),
        }
        text = "FUNC TOTAL_TIME(us) COUNT AVG(us)\n"
        for name, (calls, us) in rows.items():
            total = int(int(calls) * us)
            text += f"{name} {total} {int(calls)} {math.floor(100 * total / int(calls)) / 100:.2f}\n"
        return text


def draw(seed: int, most: int = 48) -> Kernel:
    """Within a factor of 4 of the calibrated model, in a storm or not; measured at one to three points."""
    by = random.Random(seed)
    hidden = {
        "elsewhere_us": 58.5 * 4 ** by.uniform(-1, 1),
        "hold_ns": 285.3 * 4 ** by.uniform(-1, 1),
        "access_ns": by.uniform(100, 500),
    }
    n = by.choice([n for n in (16, 24, 32, 48) if n <= most])
    return Kernel(hidden, by.choice([[n], [n // 2, n], [1, n // 4, n]]), by.uniform(6, 9), seed)
