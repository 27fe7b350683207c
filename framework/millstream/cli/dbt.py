"""Commands and options of dbt that Millstream has by another name, or not at all."""

_ENVIRONMENTS = "use an environment: `millstream build --environment NAME` builds only what changed"

COMMANDS = {
    "clone": _ENVIRONMENTS,
    "deps": "remove it: packages of dbt are not read; copy their macros to macros/",
    "freshness": "write the data test `freshness`, and use `millstream test --data`",
    "list": "use `millstream ls`",
    "parse": "use `millstream compile`",
    "retry": "use `millstream build`: each query continues where it stopped",
    "run-operation": "remove it: a template never queries",
    "snapshot": "use `millstream build`: a snapshot is a table with `versions`",
    "source": "write the data test `freshness`, and use `millstream test --data`",
}
"""What to use instead of a command."""

_DEFER = f"{_ENVIRONMENTS}, and reads the rest from production"
_SELECTED = "name the model: `millstream show MODEL`"
_MODELS = "use --select"

OPTIONS = {
    ("docs", "--select"): "remove it: the site always shows the whole project",
    ("show", "--select"): _SELECTED,
    ("show", "-s"): _SELECTED,
    ("show", "--inline"): "use `millstream query SQL`",
    ("", "--models"): _MODELS,
    ("", "--model"): _MODELS,
    ("", "-m"): _MODELS,
    ("", "--threads"): "remove it: Spark runs queries in parallel; `master` of the target sets its cores",
    ("", "--fail-fast"): "remove it: if a model fails, the models that read it are skipped",
    (
        "",
        "--store-failures",
    ): "remove it: `severity: dead_letter` of a data test stores failing rows as dead letters",
    ("", "--defer"): _DEFER,
}
"""What to use instead of an option, by command; an empty command is any."""


def option_remedy(command: str, option: str) -> str | None:
    """Return what to use instead of an option of dbt."""
    return OPTIONS.get((command, option)) or OPTIONS.get(("", option))
