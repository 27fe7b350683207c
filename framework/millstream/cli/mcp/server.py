"""The protocol: the tools on standard input and output."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from millstream import __version__
from millstream.cli.mcp.command_calls import ProjectCommands
from millstream.cli.mcp.tools import Tools

_INSTRUCTIONS = (
    "Millstream runs streaming pipelines that are a folder of SQL models, like dbt's, on Spark and Kafka. "
    "After an edit of a model, call compile_project and run_tests; before a merge, review_changes."
)


class _Server(MCPServer[Any]):
    """Refuses arguments that a tool does not have, which the SDK would leave out."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:
        for tool in await self.list_tools():
            properties = tool.input_schema["properties"]
            if tool.name == name and (unknown := sorted(arguments.keys() - properties.keys())):
                names = ", ".join(properties) or "it has none"
                message = f"'{unknown[0]}' is not an argument of {name}: {names}"
                raise ToolError(message)
        return await super().call_tool(name, arguments, context)


def serve_tools(commands: ProjectCommands, *, changes: bool) -> None:
    """Serve until the client closes standard input."""
    server = _Server("millstream", instructions=_INSTRUCTIONS, version=__version__)
    tools = Tools(commands)
    for tool in tools.reading:
        server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=True))
    for tool in tools.changing if changes else ():
        server.add_tool(tool)
    server.run("stdio")
