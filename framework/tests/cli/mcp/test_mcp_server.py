"""`millstream mcp`, with the client of the protocol's own SDK."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from millstream.cli.registry import COMMANDS

FILES = {
    "pyproject.toml": '[project]\nname = "web"\n[tool.millstream]\nname = "web"\n',
    "profiles.yml": "web: {target: local, outputs: {local: {}}}\n",
    "models/sources.yml": "sources: [{name: web, topics: [{name: events, columns: [{name: id, type: bigint}]}]}]\n",
    "models/ids.sql": "select id from {{ source('web', 'events') }}\n",
    "models/more.sql": "{{ config(materialized='sink', key='id') }}\nselect id, 1 as one from {{ ref('ids') }}\n",
    "tests/unit.yml": "unit_tests:\n  - name: kept\n    model: ids\n    given: [{input: \"source('web', 'events')\", "
    "rows: [{id: 1}]}]\n    expect: [{id: 1}]\n",
}
CHANGING = {"build_models", "format_files"}


@pytest.fixture
def root(tmp_path):
    for name, content in FILES.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "shop"


def talk(root, work, *arguments):
    """Let `work` use a session with a server of its own."""

    async def run():
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "millstream", "mcp", *arguments], cwd=root
        )
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return await work(session)

    return asyncio.run(run())


def test_tools_answer_as_commands_do_and_change_nothing(root):
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    async def work(session):
        tools = (await session.list_tools()).tools
        assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
        assert {tool.name for tool in tools}.isdisjoint(CHANGING)

        async def call(tool, **values):
            result = await session.call_tool(tool, values)
            assert not result.is_error, result.content
            return result.structured_content

        assert [node["name"] for node in (await call("list_nodes", select="more"))["nodes"]] == ["more"]
        assert (await call("compile_project"))["exit_code"] == 0
        assert "ids" in str(await call("explain_plan", model="more"))
        assert "web.events" in str(await call("show_lineage", name="more.id"))
        assert (await call("lint_project"))["exit_code"] in {0, 1}
        sections = await call("search_documentation", query="MS560 aggregate keeps one row forever")
        assert "MS560" in sections["result"][0]["title"]

        refused = await session.call_tool("show_lineage", {"model": "more"})
        assert refused.is_error
        assert refused.content[0].text.endswith("'model' is not an argument of show_lineage: name")

        (root / "models/more.sql").write_text("select nothing from {{ ref('ids') }}")
        wrong = await call("compile_project")
        assert wrong["exit_code"] == 2
        assert [d["code"] for d in wrong["diagnostics"]] == ["MS402"]
        (root / "models/more.sql").write_text(FILES["models/more.sql"])

    talk(root, work)
    assert {path: path.read_bytes() for path in before} == before


def test_the_page_lists_the_tools_and_their_commands(root):
    page = (Path(__file__).parents[4] / "docs/agents.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:`([\w-]+)`)? ?\|", page, re.MULTILINE)

    async def work(session):
        assert [tool.name for tool in (await session.list_tools()).tools] == [name for name, _ in rows]

    talk(root, work)
    assert {command for _, command in rows} - {""} <= {entry.name for entry in COMMANDS}


def test_values_are_no_options(root):
    async def work(session):
        for name, values in (
            ("run_tests", {"select": "ids --update"}),
            ("review_changes", {"against": "--against-manifest=/etc/passwd"}),
        ):
            result = await session.call_tool(name, values)
            assert result.is_error
            assert "is an option" in result.content[0].text
        for name, values in (("explain_plan", {"model": "--help"}), ("query_tables", {"sql": "--help"})):
            result = await session.call_tool(name, values)
            assert "Usage" not in str(result.content)
        missing = await session.call_tool("show_rows", {"model": "nothing"})
        assert "nothing" in str(missing.content)

    talk(root, work)


def test_changes_are_allowed_by_an_option(root):
    (root / "models/ids.sql").write_text("SELECT id FROM {{ source('web', 'events') }}\n")

    async def work(session):
        assert {tool.name for tool in (await session.list_tools()).tools} >= CHANGING
        assert not (await session.call_tool("format_files", {})).is_error

    talk(root, work, "--allow-changes")
    assert (root / "models/ids.sql").read_text() == FILES["models/ids.sql"]
