"""The commands: to add one is a file and a line here, which `--help` shows without importing the file."""

from typing import NamedTuple


class Entry(NamedTuple):
    name: str
    help: str
    """The first sentence of the command's own help."""

    @property
    def module(self) -> str:
        return f"millstream.cli.commands.{self.name}"


COMMANDS = (
    Entry("init", "Make a new project that compiles."),
    Entry("debug", "Check the installation, the project and its target."),
    Entry("compile", "Check the project and write its SQL and manifest."),
    Entry("ls", "List what the project holds."),
    Entry("lineage", "Show what depends on what, down to columns."),
    Entry("explain", "Show the plan as written and as optimized, and what each rule saved."),
    Entry("schema", "Print the JSON Schemas of the YAML files."),
    Entry("completion", "Print the script that completes commands in a shell."),
)
