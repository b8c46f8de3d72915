# SPDX-License-Identifier: MIT
"""An answer as a person reads it in a terminal."""

from dataclasses import asdict
from typing import Any

import pandas as pd

from lockscale.predict.answer import Answer
from lockscale.report.text_table import text_table


def answer_text(answer: Answer) -> str:
    """What was read, what it says, who waits, the predictions, what is open, and what is worth writing."""
    predictions = _table([asdict(one) for one in answer.predictions])
    missing = _list(f"{one.parameter}: {one.why}; closed by: {one.measurement}" for one in answer.open)
    parts = [
        f"From {'; '.join(answer.used)}.",
        f"Parameters\n{_table([asdict(one) for one in answer.parameters])}",
        f"Who waits for what, by Little's law\n{_table([asdict(one) for one in answer.waits])}",
        f"Predictions, low to high at 95%; naive_value: {answer.naive_reason}\n{predictions}",
        f"Not in the base\n{missing}",
        f"Worth writing\n{_list(f'{i.arm}: {i.worth}; {i.why}' for i in answer.ideas)}",
        *answer.notes,
    ]
    if answer.published:
        parts.append(f"Published, for the reader; nothing of it was used\n{_table(answer.published)}")
    return "\n\n".join(parts)


def _table(rows: list[dict[str, Any]]) -> str:
    return text_table(pd.DataFrame(rows)).rstrip() if rows else "none"


def _list(lines: Any) -> str:
    return "\n".join(f"- {line}" for line in lines) or "none"
