"""The tools of the server. Agents read their descriptions and types; each is a function and a line below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.cli.mcp.command_calls import Answer, ProjectCommands, values_of
from millstream.cli.mcp.reference_search import search_reference


class Tools:
    def __init__(self, commands: ProjectCommands) -> None:
        self._call = commands.call

    async def list_nodes(self, select: str = "") -> Answer:
        """List models, sources, seeds and tests; `select` takes dbt's selectors: `orders+`, `tag:daily`."""
        return await self._call("ls", *values_of("--select", select))

    async def compile_project(self) -> Answer:
        """Check the project: all errors and warnings with file, line, column and remedy."""
        return await self._call("compile")

    async def explain_plan(self, model: str = "") -> Answer:
        """Show the plan of a model's query as written and as optimized, its state and what rules saved."""
        return await self._call("explain", names=[model] if model else [])

    async def show_lineage(self, name: str = "") -> Answer:
        """Show what a model or a column (`orders.amount`) depends on, and what depends on it."""
        return await self._call("lineage", names=[name] if name else [])

    async def run_tests(self, select: str = "", data_tests: bool = False) -> Answer:
        """Run unit tests of models on Spark. With `data_tests`, run those on stored rows instead."""
        return await self._call("test", "--data" if data_tests else "--unit", *values_of("--select", select))

    async def show_rows(self, model: str, limit: int = 10, compute: bool = False) -> Answer:
        """Show the newest rows of a model, source or seed; with `compute`, those of its SQL as it is."""
        return await self._call(
            "show", "--limit", str(limit), *(["--compute"] if compute else []), names=[model]
        )

    async def query_tables(self, sql: str, limit: int = 100) -> Answer:
        """Run a SELECT over stored tables, reference topics and seeds."""
        return await self._call("query", "--limit", str(limit), names=[sql])

    async def review_changes(self, against: str = "") -> Answer:
        """Say what the working tree changes against a branch or commit: columns, state, contracts, tests."""
        return await self._call("review", *values_of("--against", against))

    async def show_deployment_plan(self) -> Answer:
        """Show what `apply` would do to the target: which queries continue, start or are built again."""
        return await self._call("plan")

    async def lint_project(self, select: str = "") -> Answer:
        """Report what compiles and is still likely wrong, by rules."""
        return await self._call("lint", *values_of("--select", select))

    async def search_documentation(self, query: str) -> list[dict[str, str]]:
        """Find commands, configuration keys and error codes (`MS560`) in Millstream's reference."""
        return search_reference(query)

    async def build_models(self, select: str = "") -> Answer:
        """Run models over what the topics hold now, with their tests. This changes the target."""
        return await self._call("build", *values_of("--select", select))

    async def format_files(self, select: str = "") -> Answer:
        """Format the SQL of the project's files. This changes them."""
        return await self._call("fmt", names=select.split())

    @property
    def reading(self) -> list[Callable[..., Any]]:
        """The tools that change no file of the project and no target."""
        return [
            self.list_nodes,
            self.compile_project,
            self.explain_plan,
            self.show_lineage,
            self.run_tests,
            self.show_rows,
            self.query_tables,
            self.review_changes,
            self.show_deployment_plan,
            self.lint_project,
            self.search_documentation,
        ]

    @property
    def changing(self) -> list[Callable[..., Any]]:
        return [self.build_models, self.format_files]
