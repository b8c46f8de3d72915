# SPDX-License-Identifier: MIT
"""The command line: thin, one library call a command. Exit 0 done, 1 found a failure, 2 bad input."""

import os
import re
import signal
import sys
from collections.abc import Sequence

import click
from click.exceptions import NoArgsIsHelpError

from lockscale.cli.completion import show_completion
from lockscale.cli.kernels import kernel, target
from lockscale.cli.output import INTERRUPTED, UNREAD, say
from lockscale.cli.patches import patches
from lockscale.cli.predict import casebook, whatif
from lockscale.cli.sim import sim
from lockscale.cli.studies import batch, new, report, study
from lockscale.cli.sweep import scale, sweep
from lockscale.cli.tables import audit, compare, export, fit, scoreboard
from lockscale.cli.tools import doctor, parse
from lockscale.errors import BadInput, Interrupted, RunFailed, printable
from lockscale.files import need_root, refused_write
from lockscale.studies import EXAMPLE_MODEL, EXAMPLE_STUDY

CONTEXT = {"help_option_names": ["-h", "--help"]}
FIRST_STEPS = (
    ("whatif -r 1:35k,64:140k", "predict the gain of a patch"),
    ("compare my.csv", "find the law that fits your table"),
    (f"sim {EXAMPLE_MODEL} --threads 1,8,48", "see where a lock stops scaling"),
    (f"study run {EXAMPLE_STUDY} --short", "measure a patch in virtual time"),
    ("new study NAME", "study your own patch"),
)
"""Command, without the word lockscale, and what it does: what is said when nothing is asked."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; whatever goes wrong is one sentence on standard error."""
    if argv is None:  # the process is ours: a kill or a closed terminal cleans up as Ctrl-C does
        _open_closed_streams()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # which is nohup's
            signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        given = list(argv) if argv is not None else None
        status = cli.main(args=given, prog_name="lockscale", standalone_mode=False)
    except NoArgsIsHelpError as error:
        _end(f"{error.ctx.command_path} needs a command: {error.ctx.command_path} --help lists them", 2)
    except click.ClickException as error:
        _end(error.format_message() + _elsewhere(error), 2)
    except SystemExit as error:  # click's own: of a completion; with 1, of an output that nobody reads
        sys.exit(UNREAD if error.code == 1 else error.code)
    except click.Abort:
        _end("interrupted", INTERRUPTED)
    except BadInput as error:
        _end(str(error), 2)
    except RunFailed as error:  # its sentence may end in what a console or a compiler said
        say(f"lockscale: {error}")
        sys.exit(INTERRUPTED if isinstance(error, Interrupted) else 1)
    except OSError as error:
        _end(refused_write(error) or f"{error.filename or 'a file or pipe'}: {error.strerror or error}", 2)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _open_closed_streams() -> None:
    """A lock or a journal would get the number of a closed one, which each child's own stream replaces."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _elsewhere(error: click.ClickException) -> str:
    """The command that has the name of one that is not there: `new study` for `study new`."""
    asked = re.match(r"No such command '([\w-]+)'\.$", error.format_message())
    group = error.ctx.command.name if isinstance(error, click.UsageError) and error.ctx else None
    paths: list[tuple[str, ...]] = [(one,) for one in cli.commands]
    paths += [(one, two) for one, known in cli.commands.items() for two in getattr(known, "commands", ())]
    named = [path for path in paths if asked and asked[1] in path]
    named.sort(key=lambda path: group not in path)
    return f" Did you mean lockscale {' '.join(named[0])}?" if named else ""


def _end(sentence: str, status: int) -> None:
    shown = printable(" ".join(sentence.split()), len(sentence))  # a name in it may steer a terminal
    say(f"lockscale: {shown}")
    sys.exit(status)


@click.group(context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(package_name="lockscale")
@click.option(
    "--show-completion",
    metavar="SHELL",
    is_flag=False,
    flag_value="",
    is_eager=True,
    expose_value=False,
    callback=show_completion,
    help="Print the completion script for bash, zsh or fish.  [default: $SHELL]",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """From a lock-contention profile of a Linux file system to a proven kernel patch."""
    if context.invoked_subcommand is None:
        click.echo(_first_steps())
    else:
        need_root()


def _first_steps() -> str:
    """One line each with its command, and where the other commands are."""
    commands = [f"lockscale {command}" for command, _ in FIRST_STEPS]
    width = max(map(len, commands))
    lines = [f"  {c:<{width}}  {says}" for c, (_, says) in zip(commands, FIRST_STEPS, strict=True)]
    return "\n".join(
        [
            "From a lock-contention profile of a Linux file system to a proven kernel patch.",
            "Five ways to start:",
            "",
            *lines,
            "",
            "lockscale doctor reports what is missing, lockscale --help lists all commands.",
        ]
    )


for command in (
    doctor,
    study,
    new,
    patches,
    kernel,
    target,
    parse,
    audit,
    sim,
    sweep,
    fit,
    compare,
    scoreboard,
    whatif,
    casebook,
    scale,
    batch,
    export,
    report,
):
    cli.add_command(command)
