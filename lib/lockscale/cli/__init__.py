# SPDX-License-Identifier: MIT
"""The command line: thin, one library call a command. Exit 0 done, 1 found a failure, 2 bad input."""

import re
import signal
import sys
from collections.abc import Sequence

import click
from click.exceptions import NoArgsIsHelpError

from lockscale.cli.completion import show_completion
from lockscale.cli.first_steps import first_steps, new
from lockscale.cli.kernels import kernel, target
from lockscale.cli.patches import patches
from lockscale.cli.predict import casebook, whatif
from lockscale.cli.sim import sim
from lockscale.cli.studies import batch, report, study
from lockscale.cli.sweep import scale, sweep
from lockscale.cli.tables import audit, compare, export, fit, scoreboard
from lockscale.cli.tools import doctor, parse
from lockscale.errors import BadInput, RunFailed, printable
from lockscale.files import need_root, refused_write

CONTEXT = {"help_option_names": ["-h", "--help"]}


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command; whatever goes wrong is one sentence on standard error."""
    if argv is None:  # the process is ours: a kill or a closed terminal cleans up as Ctrl-C does
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
    except click.Abort:
        _end("interrupted", 130)
    except BadInput as error:
        _end(str(error), 2)
    except RunFailed as error:  # its sentence may end in what a console or a compiler said
        click.echo(f"lockscale: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        _end(refused_write(error) or f"{error.filename or 'a file or pipe'}: {error.strerror or error}", 2)
    else:
        sys.exit(status if isinstance(status, int) else 0)


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
    click.echo(f"lockscale: {shown}", err=True)
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
        click.echo(first_steps())
    else:
        need_root()


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
