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
    Entry("docs", "Make the project's site, or a document for other tools, and show it."),
    Entry("review", "Tell what an edit does, before it is merged."),
    Entry("broker", "Start, stop or ask for the project's local Kafka."),
    Entry("build", "Run every model over what the topics hold now, then the data tests of what was built."),
    Entry("run", "Run every model, continuously."),
    Entry("plan", "Tell what `apply` would do to a target."),
    Entry("apply", "Make a target what the project says, and keep a way back."),
    Entry("regroup", "Decide anew which models with state share a query."),
    Entry("test", "Test models on given rows, and what is stored."),
    Entry("seed", "Fill the empty topics of the local broker with the traffic of seeds/*.py."),
    Entry("produce", "Send test traffic: the records that the generators of seeds/*.py make."),
    Entry("consume", "Show the records of topics, decoded by what the project knows of them."),
    Entry("query", "Answer SQL over state tables, reference topics and seeds."),
    Entry("show", "Show the newest rows of a model, source or seed."),
    Entry("clean", "Remove what this project made on this machine."),
    Entry("schema", "Print the JSON Schemas of the YAML files."),
    Entry("completion", "Print the script that completes commands in a shell."),
)
