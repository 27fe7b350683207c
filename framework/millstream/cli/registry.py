"""All commands. A new one needs a file and a line here; `--help` does not import the files."""

from typing import NamedTuple


class CommandEntry(NamedTuple):
    name: str
    help: str
    """The first sentence of the command's own help."""
    in_session: bool = False
    """The command runs in a warm session of its project."""
    session_option: str = ""
    """It runs there only with this option; empty: always."""

    @property
    def module(self) -> str:
        return f"millstream.cli.commands.{self.name.replace('-', '_')}"


COMMANDS = (
    CommandEntry("init", "Create a new project that compiles."),
    CommandEntry("demo", "Run a project with live test traffic, and show it on a live page."),
    CommandEntry("debug", "Check the installation, the project and its target, and test its connections."),
    CommandEntry("compile", "Check the project and write its SQL and manifest.", in_session=True),
    CommandEntry(
        "dev",
        "Show what each edit does, as soon as a file is saved.",
        in_session=True,
        session_option="--once",
    ),
    CommandEntry("fmt", "Format the SQL of models, macros and tests.", in_session=True),
    CommandEntry("lint", "Report what compiles and is still likely wrong, by rules.", in_session=True),
    CommandEntry("ls", "List the nodes of the project.", in_session=True),
    CommandEntry("lineage", "Show the lineage of models and columns.", in_session=True),
    CommandEntry(
        "explain", "Show the plan as written and as optimized, and what each rule saved.", in_session=True
    ),
    CommandEntry("docs", "Generate or serve the project's site, or a document for other tools."),
    CommandEntry("review", "Review what a change does before it is merged.", in_session=True),
    CommandEntry("broker", "Start, stop or inspect the project's local Kafka broker."),
    CommandEntry(
        "build",
        "Run every model over what the topics hold now, with its unit tests before and its data tests after.",
        in_session=True,
    ),
    CommandEntry("run", "Run every model continuously."),
    CommandEntry("lag", "Show how far queries are behind their topics."),
    CommandEntry("state", "Show the size or the contents of query state.", in_session=True),
    CommandEntry("plan", "Show what `apply` would do to a target.", in_session=True),
    CommandEntry("apply", "Deploy the project to a target, with a rollback."),
    CommandEntry("package", "Package the project for a target, as a bundle that runs without a registry."),
    CommandEntry("environment", "List or drop isolated environments."),
    CommandEntry("regroup", "Regroup stateful models into queries."),
    CommandEntry("test", "Run unit tests of models and data tests of stored rows.", in_session=True),
    CommandEntry(
        "seed", "Fill the empty topics of the local broker with records from seeds/*.py.", in_session=True
    ),
    CommandEntry("produce", "Send test traffic from the generators in seeds/*.py, or single records."),
    CommandEntry("consume", "Show the records of topics, decoded as the project declares them."),
    CommandEntry("dead-letters", "List, show, replay or drop dead letters."),
    CommandEntry("query", "Query state tables, reference topics and seeds with SQL.", in_session=True),
    CommandEntry("show", "Show the newest rows of a model, source or seed.", in_session=True),
    CommandEntry("clean", "Remove what this project has created on this machine."),
    CommandEntry("session", "Show or stop the process that keeps Spark ready for the next command."),
    CommandEntry("schemas", "Pin or list the schemas of topics from a schema registry."),
    CommandEntry("schema", "Print the JSON Schemas of the YAML files."),
    CommandEntry("lsp", "Serve an editor with the language server protocol."),
    CommandEntry("mcp", "Serve agents and scripts with the Model Context Protocol."),
    CommandEntry("completion", "Print the script that completes commands in a shell."),
)
SESSION_COMMANDS = frozenset(entry.name for entry in COMMANDS if entry.in_session)


def runs_in_session(arguments: list[str]) -> bool:
    """Return whether a command runs in a warm session."""
    entry = next((entry for entry in COMMANDS if arguments and entry.name == arguments[0]), None)
    return entry is not None and entry.in_session and (entry.session_option or entry.name) in arguments
