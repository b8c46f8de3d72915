# SPDX-License-Identifier: MIT
"""`lockscale scale`."""

import contextlib

import click

from lockscale.cli.output import as_json, show
from lockscale.cli.sweep import dask_client


@click.command()
@click.option(
    "--dask", metavar="ADDRESS", help="This Dask scheduler's workers.  [default: own processes here]"
)
@click.option("--keep", is_flag=True, help="Keep it in data/, where the figure and the notebook read it.")
@as_json
def scale(dask: str | None, keep: bool, as_json: bool) -> None:
    """Where ext4's create, allocation and orphan paths saturate next: the fitted models up to 1024 CPUs.

    Parameters are drawn as uncertain as the scoreboard's fits leave them. Interrupted, the same command goes
    on from there.
    """
    from lockscale.report.text_table import text_table
    from lockscale.scale.cluster import local_cluster
    from lockscale.scale.kept import keep_scale
    from lockscale.scale.study import scale_study
    from lockscale.studies.registry import studies

    with contextlib.ExitStack() as stack:
        client = stack.enter_context(dask_client(dask) if dask else local_cluster())
        found = scale_study([path for one in studies() for path in one.scale], client)
    if keep:
        keep_scale(found)
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    show(rows, as_json, f"{text_table(found)}\nsimulated")
