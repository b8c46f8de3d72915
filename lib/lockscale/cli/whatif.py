# SPDX-License-Identifier: MIT
"""`lockscale whatif`."""

from pathlib import Path

import click

from lockscale.cli.output import as_json, named_numbers, parameter, show
from lockscale.errors import BadInput

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("study", required=False)
@click.option(
    "--profile", type=_FILE, help="Function costs or lock statistics of the base, as tools print them."
)
@click.option("--rates", type=_FILE, help="CSV with threads,value: rates of the base.")
@click.option("--model", help="A model that `lockscale sim --list` names, or a .py file of your own.")
@parameter
@click.option("--given", multiple=True, metavar="NAME=VALUE", help="A measurement that closes what is open.")
@as_json
def whatif(
    study: str | None,
    profile: Path | None,
    rates: Path | None,
    model: str | None,
    parameters: tuple[str, ...],
    given: tuple[str, ...],
    as_json: bool,
) -> None:
    """What patches would give, from base rates and a base profile alone, before one is written.

    STUDY, or files of your own: then each switch of --model that the base has not thrown (-p NAME=true) is a
    patch, and the profile is taken to be of the most threads in --rates. Each prediction has an interval, and
    beside it what deleting the waits would suggest. What the base cannot tell is said, with the measurement
    that would; --given takes its result.
    """
    from lockscale.whatif.text import answer_text

    measured = named_numbers("--given", given, "contended_us=0.6")
    files = (profile, rates, model)
    if study is not None and not any((*files, parameters)):
        from lockscale.prediction import ask

        found = ask(study, measured)
    elif study is None and profile and rates and model:
        from lockscale.sim.model import read_parameters
        from lockscale.whatif.own import ask_files

        found = ask_files(profile, rates, model, held=read_parameters(parameters), given=measured)
    else:
        raise BadInput(
            "whatif takes a study by name, or --profile, --rates and --model: give one or the other"
        )
    show(found.to_json(), as_json, answer_text(found))
