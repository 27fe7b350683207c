"""`millstream mcp`."""

from __future__ import annotations

import click

from millstream.cli.options import CommonOptions, cli_command
from millstream.cli.project import root_of
from millstream.core.errors import Diagnostic, MillstreamError


@cli_command("mcp", "millstream mcp    # started by an agent", "millstream mcp --allow-changes", offline=True)
@click.option("--allow-changes", is_flag=True, help="Also offer tools that build models and format files.")
def command(common: CommonOptions, *, allow_changes: bool) -> int:
    """Serve agents and scripts with the Model Context Protocol.

    The server reads and writes standard input and output. Its tools list, compile, explain, test, review and
    query the project, and search the reference; each answers as the command of that name does with
    `--output json`. None changes files of the project or a target, unless --allow-changes is given.
    """
    try:
        from millstream.cli.mcp.server import serve_tools
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        message = "the server for agents needs the package mcp"
        remedy = "install it: pip install 'millstream[mcp]'"
        raise MillstreamError(Diagnostic("MS714", message, None, remedy)) from None
    from millstream.cli.mcp.command_calls import ProjectCommands

    options = {"--target": common.target, "--vars": common.vars, "--profiles-dir": common.profiles_dir}
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    serve_tools(ProjectCommands(root_of(common), tuple(words)), changes=allow_changes)
    return 0
