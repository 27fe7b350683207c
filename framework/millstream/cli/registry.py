"""All commands. A new one needs a file and a line here; `--help` does not import the files."""

from typing import NamedTuple


class Entry(NamedTuple):
    name: str
    help: str
    """The first sentence of the command's own help."""

    @property
    def module(self) -> str:
        return f"millstream.cli.commands.{self.name.replace('-', '_')}"


COMMANDS = (
    Entry("init", "Create a new project that compiles."),
    Entry("demo", "Run a project with live test traffic, and show it on a live page."),
    Entry("debug", "Check the installation, the project and its target, and test its connections."),
    Entry("compile", "Check the project and write its SQL and manifest."),
    Entry("ls", "List the nodes of the project."),
    Entry("lineage", "Show the lineage of models and columns."),
    Entry("explain", "Show the plan as written and as optimized, and what each rule saved."),
    Entry("docs", "Generate or serve the project's site, or a document for other tools."),
    Entry("review", "Review what a change does before it is merged."),
    Entry("broker", "Start, stop or inspect the project's local Kafka broker."),
    Entry(
        "build",
        "Run every model over what the topics hold now, with its unit tests before and its data tests after.",
    ),
    Entry("run", "Run every model continuously."),
    Entry("lag", "Show how far queries are behind their topics."),
    Entry("state", "Show the size or the contents of query state."),
    Entry("plan", "Show what `apply` would do to a target."),
    Entry("apply", "Deploy the project to a target, with a rollback."),
    Entry("package", "Package the project for a target, as a bundle that runs without a registry."),
    Entry("environment", "List or drop isolated environments."),
    Entry("regroup", "Regroup stateful models into queries."),
    Entry("test", "Run unit tests of models and data tests of stored rows."),
    Entry("seed", "Fill the empty topics of the local broker with records from seeds/*.py."),
    Entry("produce", "Send test traffic from the generators in seeds/*.py."),
    Entry("consume", "Show the records of topics, decoded as the project declares them."),
    Entry("dead-letters", "List, show, replay or drop dead letters."),
    Entry("query", "Query state tables, reference topics and seeds with SQL."),
    Entry("show", "Show the newest rows of a model, source or seed."),
    Entry("clean", "Remove what this project has created on this machine."),
    Entry("schemas", "Pin or list the schemas of topics from a schema registry."),
    Entry("schema", "Print the JSON Schemas of the YAML files."),
    Entry("completion", "Print the script that completes commands in a shell."),
)
