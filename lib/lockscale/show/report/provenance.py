# SPDX-License-Identifier: MIT
"""Kernels, target, prices, tools, commands and hashes of a run, as its own files have them."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from lockscale.files import sha256_of
from lockscale.measure.count_calls import observed
from lockscale.measure.provenance import how_to_repeat
from lockscale.measure.run_folder import Run
from lockscale.show.protocol import disk_mib, made_of
from lockscale.show.report.page import ReportTable, ReportText
from lockscale.show.story import Story

RECORDED = "recorded by the run (provenance.json)"
KERNEL = ["release", "spin_lock", "build_id", "series", "series_sha256", "source_sha256", "config_sha256"]

OF_ALL = ("spin_lock", "source_sha256", "config_sha256")
"""Of these one is said once, where all arms have the same."""


def provenance_parts(story: Story) -> Iterator[ReportTable | ReportText]:
    """All that somebody needs to repeat the run or to doubt it."""
    said, run = story.provenance, story.measured
    told = how_to_repeat(run)
    kernels = pd.DataFrame(
        [{"arm": arm, **{k: one.get(k) for k in KERNEL}} for arm, one in said["kernels"].items()]
    )
    alike = [name for name in KERNEL if name in OF_ALL and kernels[name].nunique() == 1]
    shared = {f"{name.replace('_', ' ')} of all kernels": kernels[name].iloc[0] for name in alike}
    yield ReportTable("The run", RECORDED, _named({**_run_facts(said, told), **shared}))
    yield ReportTable("Kernels", RECORDED, kernels.drop(columns=alike))
    if prices := said.get("target", {}).get("prices"):
        rows = [{"price": name.replace("_", " "), **one} for name, one in prices.items()]
        yield ReportTable("Prices of virtual time, in ns", "the target's file", pd.DataFrame(rows))
    yield ReportTable("Files", "computed when this report was written", pd.DataFrame(_files(run)))
    yield ReportText("\n".join(["To repeat it:", *told["commands"], *told["needs"]]), fixed=True)


def _run_facts(said: dict[str, Any], told: dict[str, Any]) -> dict[str, object]:
    host, target = said.get("host") or {}, said.get("target") or {}
    disk = dict(target.get("disk") or {})
    disk |= {"size_mib": disk_mib(said)} if "size_mib" in disk else {}
    found = list(said.get("as_found", {}).values())
    systems = [one["file_system"] for one in found if one.get("file_system")]
    machine = [f"{host.get('cpus')} CPUs ({host.get('cpu_model')})", f"Linux {host.get('kernel')}"]
    return {
        "target": f"{target.get('name')} ({target.get('kind')})",
        "machine under it": ", ".join(machine) if host else None,
        "QEMU": said.get("qemu_version"),
        "disk": ", ".join(f"{name} {value}" for name, value in disk.items()) or None,
        "file system": "; ".join(sorted({made_of(one) for one in systems} - {""})),
        "tools": ", ".join(told["tools"]),
        "mkfs": "; ".join(told["mkfs"]),
        "mount": "; ".join(sorted({one["mount_line"] for one in systems})),
        "compilers": "; ".join(sorted({str(one.get("compiler")) for one in said["kernels"].values()})),
        "packages": ", ".join(f"{name} {version}" for name, version in told["packages"].items()),
        "seed": told["seed"],
        "study sha256": told["study_sha256"],
        "predicted numbers, sha256": told["prediction_sha256"],
    }


def _named(facts: dict[str, object]) -> pd.DataFrame:
    known = [(name, value) for name, value in facts.items() if value not in (None, "")]
    return pd.DataFrame(known, columns=["what", "value"]).astype(str)


def _files(run: Run) -> list[dict[str, str]]:
    """The hash of each file from which this page was made."""
    candidates = (run.rows, observed(run).rows, run.provenance, run.prediction, run.folder / "study.json")
    return [
        {"file": path.relative_to(run.folder).as_posix(), "sha256": sha256_of(path)}
        for path in candidates
        if path.is_file()
    ]
