# SPDX-License-Identifier: MIT
"""What a notebook found, in one sentence that an index of executed notebooks can show."""

from dataclasses import dataclass, field
from typing import Any

MIME = "application/vnd.lockscale.headline+json"
"""Where it lies in an executed notebook; JupyterLab passes over it and shows the text."""


@dataclass(frozen=True)
class Headline:
    """`numbers`: those of the sentence, named with their units: the columns of a batch's summary."""

    says: str
    numbers: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.says

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/plain": self.says, MIME: {"says": self.says, "numbers": self.numbers}}
