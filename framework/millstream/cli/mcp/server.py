"""The protocol: the tools on standard input and output."""

from __future__ import annotations

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

from millstream import __version__
from millstream.cli.mcp.command_calls import ProjectCommands
from millstream.cli.mcp.tools import Tools

_INSTRUCTIONS = (
    "Millstream runs streaming pipelines that are a folder of SQL models, like dbt's, on Spark and Kafka. "
    "After an edit of a model, call compile_project and run_tests; before a merge, review_changes."
)


def serve_tools(commands: ProjectCommands, *, changes: bool) -> None:
    """Serve until the client closes standard input."""
    server = MCPServer("millstream", instructions=_INSTRUCTIONS, version=__version__)
    tools = Tools(commands)
    for tool in tools.reading:
        server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=True))
    for tool in tools.changing if changes else ():
        server.add_tool(tool)
    server.run("stdio")
