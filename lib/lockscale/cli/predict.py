# SPDX-License-Identifier: MIT
"""`lockscale whatif` and `casebook`: what patches would give, and how often such predictions held."""

import difflib
from pathlib import Path
from typing import Any

import click

from lockscale.cli.completion import studies
from lockscale.cli.output import as_json, named_numbers, parameter, say, show, table
from lockscale.cli.tools import tool_option
from lockscale.errors import BadInput

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _Amount(click.FloatRange):
    """A number, with or without its unit; what is none is refused in the words of the unit."""

    def __init__(self, sign: str, unit: str, **bounds: Any) -> None:
        super().__init__(**bounds)
        self.sign, self.unit = sign, unit

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        try:
            number = float(str(value).removesuffix(self.sign))
        except ValueError:
            self.fail(f"{value!r} is not a number of {self.unit}, such as 2.5", param, context)
        return super().convert(number, param, context)


def _once(_: click.Context, param: click.Parameter, given: tuple[Any, ...]) -> Any:
    if len(given) > 1:
        cure = "give all rates at once, 1:35k,64:140k" if param.name == "rates" else "give one of them"
        raise BadInput(f"{param.opts[0]} is given {len(given)} times: {cure}")
    return given[0] if given else None


@click.command()
@click.argument("study", required=False, shell_complete=studies)
@click.option(
    "--profile",
    callback=_once,
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Output of perf report, perf lock, lock_stat, a test robot's mail ... of the unpatched kernel, or - "
    "for a pipe.",
)
@click.option(
    "-r",
    "--rates",
    metavar="N:RATE,...",
    callback=_once,
    multiple=True,
    help="Unpatched rates: 1:35k,64:140k, or a CSV file with threads,value.",
)
@click.option(
    "--patch",
    "patches",
    multiple=True,
    metavar="TEXT",
    help='For example "split i_lock 4"; give several to have them ranked.',
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1_000_000),
    help="Thread count of the profile.  [default: the highest in -r]",
)
@click.option(
    "--seconds",
    type=_Amount("s", "seconds", min=0, min_open=True),
    metavar="SECONDS",
    help="How long the profiled load ran, in s, to turn lock waits into shares.",
)
@click.option(
    "--share",
    type=_Amount("%", "percent", min=0, max=100),
    metavar="PERCENT",
    help="Share of the threads' time spent waiting for the lock, if you know it.",
)
@click.option(
    "--distinct",
    is_flag=True,
    help="You know that functions that wait for the same kind of lock wait for different locks.",
)
@tool_option("the profile")
@click.option(
    "--table", "which", metavar="N", help="Number or title of the table, if the profile has several."
)
@click.option("--letter", is_flag=True, help="Print a paragraph for a cover letter.")
@click.option("--model", metavar="MODEL", help="A model from `lockscale sim --list`, or your own .py file.")
@parameter("A parameter of --model that is known, so that it is not fitted.")
@click.option(
    "--given", multiple=True, metavar="NAME=VALUE", help="A measurement that supplies a missing value."
)
@as_json
def whatif(
    study: str | None,
    profile: Path | None,
    rates: str | None,
    patches: tuple[str, ...],
    threads: int | None,
    seconds: float | None,
    share: float | None,
    distinct: bool,
    tool: str | None,
    which: str | None,
    letter: bool,
    model: str | None,
    parameters: tuple[str, ...],
    given: tuple[str, ...],
) -> None:
    """Predict the gain of patches from a profile or rates of the unpatched kernel.

    For any lock: give --profile, -r, or both. Each --patch is one of

    \b
      split LOCK 4      trylock LOCK 4    shrink LOCK 50%   lockless LOCK
      batch LOCK 8      fewer LOCK 50%    percpu LOCK       rcu LOCK
      avoid FUNC 80%    unshare FUNC      algorithm LOCK    "A + B" for both

    where LOCK is the name of a lock or of a function that takes it, a percentage is by how much the hold
    time, the acquisitions or the function's calls shrink, and a number how many locks there are then, or
    operations for each acquisition. trylock: a thread that meets a held lock takes another of them. Without
    --patch the usual ones are tried on the most contended lock. The interval of the gain is learned from
    published patches (`lockscale casebook`) and allows for the next bottleneck, which is not known.

    For a STUDY: predicts its arms from the unpatched one. With --model: each switch that is off
    (-p NAME=true) is a patch; the profile is assumed to be at the highest thread count in --rates.
    """
    if study is not None or model is not None:
        if any((patches, threads, seconds, share is not None, distinct, which, letter)):
            raise BadInput(
                "--patch, --threads, --seconds, --share, --distinct, --table and --letter do not work with "
                "STUDY or --model: leave out one or the other"
            )
        _of_model(study, profile, tool, rates, model, parameters, given)
        return
    if parameters or given:
        raise BadInput("-p and --given need a model or a study: add --model NAME")
    if not profile and any((tool, which, seconds, distinct)):
        raise BadInput(
            "--tool, --table, --seconds and --distinct are about a profile: give --profile FILE too"
        )
    if letter and len(patches) != 1:
        raise BadInput('--letter is about one patch: give one --patch, such as --patch "split LOCK 4"')
    from lockscale.predict.lock_answer import ask_lock
    from lockscale.predict.lock_data import UnpatchedData
    from lockscale.predict.lock_text import letter as letter_of
    from lockscale.predict.lock_text import lock_text
    from lockscale.predict.user_rates import read_profile, read_rates
    from lockscale.progress import told_if_long
    from lockscale.tools.registry import file_name

    found_rates, doubt = read_rates(rates) if rates else ({}, "")
    with told_if_long("read the profile"):
        read = read_profile(profile, which, tool) if profile else None
    used = []
    if profile and read:
        used = [f"{read.tool} of {file_name(Path(profile.name))}{read.commit and f', commit {read.commit}'}"]
    used += [f"rates {rates}"] if rates else []
    used += [f"a share of {share:g}%"] if share is not None else []
    wait_share = None if share is None else share / 100
    measured = UnpatchedData(found_rates, read, threads, seconds, wait_share, doubt, distinct)
    with told_if_long("predict"):
        found = ask_lock(measured, patches, used)
    show(found.to_json(), letter_of(found) if letter else lock_text(found))


def _of_model(
    study: str | None,
    profile: Path | None,
    tool: str | None,
    rates: str | None,
    model: str | None,
    parameters: tuple[str, ...],
    given: tuple[str, ...],
) -> None:
    from lockscale.predict.answer import answer_text

    measured = named_numbers("--given", given, "contended_us=0.6")
    if study is not None and ":" in study:
        raise BadInput(f"{study!r} is not a study; rates are written without spaces: -r 1:35k,64:140k")
    if study is not None and not any((profile, tool, rates, model, parameters)):
        from lockscale.show.prediction import ask

        found = ask(study, measured)
    elif study is None and profile and rates and model:
        from lockscale.predict.user_files import ask_files
        from lockscale.sim.model import read_parameters

        held = read_parameters(parameters)
        found = ask_files(profile, rates, model, held=held, given=measured, tool=tool)
    elif study is None:
        asked = {"--profile": profile, "--rates": rates, "--model": model}
        missing = " and ".join(option for option, value in asked.items() if not value)
        raise BadInput(f"--model, --profile and --rates go together: add {missing}")
    else:
        raise BadInput(
            "whatif takes either a study's name, or --profile, --rates and --model: leave out one of them"
        )
    show(found.to_json(), answer_text(found))


@click.group()
def casebook() -> None:
    """Published patches with rates before and after, which predictions are learned from and scored on."""


@casebook.command("list")
@click.argument("file", type=_FILE, required=False)
@click.option("--kinds", is_flag=True, help="List the kinds of change and what each means.")
@as_json
def list_cases(file: Path | None, kinds: bool) -> None:
    """List the cases of FILE, by default those that ship with lockscale."""
    if kinds:
        from lockscale.predict.change_kind import KINDS

        known = [{"kind": one.name, "left of the lock": one.left, "meaning": one.meaning} for one in KINDS]
        show(known, table(known))
        return
    from lockscale.predict.casebook import asked_of

    rows: list[dict[str, Any]] = [
        {
            "id": case.id,
            "subsystem": case.subsystem,
            "kind": case.kind_name,
            "threads": asked.unpatched.threads,
            "label": asked.label,
            "published gain": asked.published and round(asked.published, 2),
        }
        for case in _cases(file)
        for asked in asked_of(case)
    ]
    show(rows, table(rows))


@casebook.command("show")
@click.argument("case")
@click.argument("file", type=_FILE, required=False)
@as_json
def show_case(case: str, file: Path | None) -> None:
    """Show one case of FILE, by default of those that ship with lockscale.

    Its numbers, its source, and the prediction from its unpatched side.
    """
    from lockscale.predict.casebook_score import score_cases

    cases = _cases(file)
    found = next((one for one in cases if one.id == case), None)
    if found is None:
        meant = difflib.get_close_matches(case, [one.id for one in cases], n=1, cutoff=0.5)
        cure = f"did you mean {meant[0]}?" if meant else "`lockscale casebook list` lists them"
        raise BadInput(f"there is no case {case!r}: {cure}")
    value: dict[str, Any] = {"case": found.model_dump(), "predicted": score_cases([found])["cases"]}
    points = [
        {
            **{"unpatched" if key == "base" else key: value for key, value in point.model_dump().items()},
            "published gain": found.gain(point),
        }
        for point in found.points
    ]
    lines = [line.model_dump() for line in found.base_profile]
    predicted = table(value["predicted"], *_SHOWN)
    about = f"{found.id} ({found.subsystem}): {found.change}; {found.workload}, in {found.unit}"
    source = ", ".join(f"{key} {text}" for key, text in found.source.items())
    parts = [about, f"Published ({source})\n{table(points)}", f"Unpatched profile\n{table(lines)}"]
    parts.append(f"Predicted from the unpatched side and other families\n{predicted}")
    show(value, "\n\n".join(parts))


_SHOWN = ("label", "threads", "promise", "low", "value", "high", "published", "held")


@casebook.command()
@click.argument("file", type=_FILE, required=False)
@click.option("--cases", "each", is_flag=True, help="Also list each case.")
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a figure of intervals and published gains; .svg, .html ...",
)
@as_json
def score(file: Path | None, each: bool, figure: Path | None) -> None:
    """Score the predictions: how often the interval contains the published gain, and its width.

    Every case of FILE (default: the shipped ones) is predicted from its unpatched side and from shipped
    cases of other families, and compared with simpler methods.
    """
    from lockscale.predict.casebook_score import score_cases

    if figure:  # refused before all cases are predicted
        from lockscale.show.figures.casebook import need_casebook_figure, save_casebook_figure

        need_casebook_figure(figure)
    value = score_cases(_cases(file))
    text = _score_text(value, each)
    if figure:
        text += f"\n\n{save_casebook_figure(value, figure)}: predicted intervals against published gains"
    show(value, text)


def _score_text(value: dict[str, Any], each: bool) -> str:
    rows = [{"how": "learned from published patches", **_summed(value)}]
    rows += [{"how": _HOW[name], **_summed(of)} for name, of in value["baselines"].items()]
    rows.append({"how": _HINDSIGHT, **_summed(value["hindsight"])})
    kinds = [{"kind": name, **_summed(of)} for name, of in value["by_kind"].items()]
    places = [{"subsystem": name, **_summed(of)} for name, of in value["by_subsystem"].items()]
    parts = [
        "Gain at the highest thread count: 90% interval, from the unpatched side alone, and published gain",
        table(rows),
        table(kinds),
        table(places),
    ]
    if unknown := [row["id"] for row in value["cases"] if row["published"] is None]:
        parts.append(
            f"Not scored, as `base` or `patched` is missing: {', '.join(unknown)}; --cases shows what is "
            "predicted"
        )
    if each:
        parts.append(table(value["cases"], "id", "kind", *_SHOWN))
    return "\n\n".join(parts)


def _summed(of: dict[str, Any]) -> dict[str, Any]:
    return {name: of[key] for key, name in _SUMMED.items()}


_SUMMED = {
    "n": "cases",
    "held_pct": "coverage of intervals (%)",
    "median_width": "median width (high/low)",
    "sign_pct": "above 5% or not: right (%)",
    "gained_pct": "always above 5%: right (%)",
    "wrong_side": "on the wrong side",
}
_HOW = {
    "delete_waits": "delete the waits, within 1.25 (where a share is known)",
    "history": "a line through promises and gains (where a share is known)",
}
_HINDSIGHT = "hindsight, no prediction: the shortest intervals that hold 90% of these very gains"


@casebook.command("add")
@click.argument("mail", type=_FILE)
@click.option("--id", "name", metavar="ID", required=True, help="The case's name in the casebook.")
@click.option("--change", metavar="TEXT", default="", help="What the patch does, in a few words.")
@as_json
def add(mail: Path, name: str, change: str) -> None:
    """Print a kernel test robot report as a casebook entry, to append to your own file.

    The first line of the file is `cases:`.
    """
    from lockscale.predict.robot_case import case_of_mail, entry_text, what_is_left_to_write

    entry = case_of_mail(mail, name, change)
    for sentence in what_is_left_to_write(entry):
        say(f"note: {sentence}")
    show(entry, entry_text(entry))


def _cases(file: Path | None) -> Any:
    from lockscale.predict.casebook import alike_points, read_casebook

    cases = read_casebook(file) if file else read_casebook()
    for case in cases:
        for threads in alike_points(case):
            say(
                f"note: {case.id} has several points of {threads} threads with one label: they count as "
                "several loads"
            )
    return cases
