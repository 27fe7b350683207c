"""Edits of YAML, macros, functions, seeds, tests and variables, over models that keep groups, windows or rows.

Each edit has a source of its own, so that it is seen by one model alone.
"""

from itertools import count

from edits.bases import table
from edits.projects import ProjectEdit

COLUMNS = ("id, type: int", "kind, type: string", "value, type: double", "at, type: timestamp")
WATERMARK = "{column: at, delay: 1 minute}"
SUM = table("user", "select user, sum(value) as total, count(*) as events from SOURCE group by user")
WINDOW = table(
    ["minute", "user"],
    "select window(at, '1 minute').start as minute, user, count(*) as events\n"
    "from SOURCE group by window(at, '1 minute'), user",
    emit="on_close",
)
ROW = table("id", "select id, user, upper(kind) as kind, value from SOURCE")
BASES = {"groups": SUM, "windows": WINDOW, "rows": ROW}
_numbers = count()


def source(name, columns=COLUMNS, watermark=WATERMARK, more="", topic=""):
    """Return a source over the topic of events; `topic` is YAML of the topic, `more` of the source."""
    lines = [
        "sources:",
        f"  - name: {name}",
        *([f"    {more}"] if more else []),
        "    topics:",
        "      - name: events",
    ]
    lines += ["        key: {name: user, type: string}", "        columns:"]
    lines += [f"          - {{name: {column}}}" for column in columns]
    lines += [f"        watermark: {watermark}"] if watermark else []
    lines += [f"        {topic}"] if topic else []
    return "\n".join(lines) + "\n"


def edit(name, verdict, sql, before=None, after=None, model_after=None):
    """Return an edit of a model over its own source: of files with NAME in their names and texts, or of its SQL."""
    model = f"f{next(_numbers):03}"

    def named(text):
        return text.replace("SOURCE", f"{{{{ source('{model}', 'events') }}}}").replace("NAME", model)

    files = {"models/NAME.sql": sql, "models/NAME_source.yml": source("NAME")} | (before or {})
    edited = dict(after or {}) | ({"models/NAME.sql": model_after} if model_after else {})
    old = {named(path): named(text) for path, text in files.items()}
    return ProjectEdit(name, model, verdict, old, {named(path): named(text) for path, text in edited.items()})


def of_sources():
    """Yield edits of sources; the verdicts are those of groups, windows and rows."""
    edits = (
        ("a source's description", "same same same", source("NAME", more="description: what people did")),
        ("a topic's description", "same same same", source("NAME", topic="description: what people did")),
        (
            "descriptions of columns", "same same same",
            source("NAME", tuple(f"{column}, description: said" for column in COLUMNS)),
        ),
        ("columns in another order", "same same same", source("NAME", COLUMNS[::-1])),
        ("a column that nobody reads", "same same same", source("NAME", (*COLUMNS, "extra, type: string"))),
        ("a test of a source that warns", "same same same",
         source("NAME", (*COLUMNS[:1], "kind, type: string, tests: [{not_null: {severity: warn}}]", *COLUMNS[2:]))),
        ("bad records are skipped", "mixed mixed stored", source("NAME", topic="on_bad_record: skip")),
        ("bad records are sent on", "mixed mixed stored", source("NAME", topic="on_bad_record: dead_letter")),
        ("another type of a column", "rebuild same stored",
         source("NAME", (*COLUMNS[:2], "value, type: 'decimal(10,2)'", COLUMNS[3]))),
        ("a longer delay", "stored rebuild same", source("NAME", watermark="{column: at, delay: 2 minutes}")),
        ("a delay in other words", "stored rebuild same", source("NAME", watermark="{column: at, delay: 60 seconds}")),
        ("the rate of a source", "same same same", source("NAME", topic="rows_per_second: 100")),
        ("a freshness of a source", "same same same", source("NAME", topic="owner: nobody")),
        ("tags of a source", "same same same", source("NAME", topic="tags: [daily]")),
    )  # fmt: skip
    for name, verdicts, after in edits:
        for (base, sql), verdict in zip(BASES.items(), verdicts.split(), strict=True):
            yield edit(f"{name} ({base})", verdict, sql, after={"models/NAME_source.yml": after})


DERIVED = 'kind_of, type: string, from: "{}(kind)"'


def of_derived():
    """Yield edits of a column that is computed when a record is decoded."""
    group = table("kind", "select kind_of as kind, count(*) as events from SOURCE group by kind_of")
    row = table("id", "select id, kind_of from SOURCE")
    for sql, verdicts in ((group, "rebuild same"), (row, "stored same")):
        for after, verdict in zip(("lower", "UPPER"), verdicts.split(), strict=True):
            path = "models/NAME_source.yml"
            yield edit(
                f"a derived column by {after} ({sql[-12:]})", verdict, sql,
                {path: source("NAME", (*COLUMNS, DERIVED.format("upper")))},
                {path: source("NAME", (*COLUMNS, DERIVED.format(after)))},
            )  # fmt: skip


def properties(column="user", model="", more=""):
    return f"models:\n  - name: NAME\n{model}    columns:\n      - name: {column}\n{more}"


def of_properties():
    """Yield edits of a model's YAML."""
    edits = (
        ("a model's description", properties(model="    description: what is counted\n")),
        ("a column's description", properties(more="        description: who\n")),
        ("a model's tags", properties(model="    config: {tags: [daily]}\n")),
        ("a test that warns", properties(more="        tests: [{not_null: {severity: warn}}]\n")),
        ("a test that stops", properties(more="        tests: [not_null]\n")),
        ("a log of its rows", properties(model="    log: {when: user > 'c', per_minute: 5}\n")),
        ("a test of a whole table", properties(more="        tests: [{unique: {severity: warn}}]\n")),
        (
            "an exposure",
            properties()
            + "exposures:\n  - name: board_NAME\n    type: dashboard\n    depends_on: [ref('NAME')]\n",
        ),
    )
    for name, after in edits:
        for base, sql in BASES.items():
            yield edit(
                f"{name} ({base})", "same", sql, {"models/NAME.yml": properties()}, {"models/NAME.yml": after}
            )
    for base, sql in BASES.items():
        config, _, query = sql.partition("\n")
        emit = ", emit: on_close" if "on_close" in config else ""
        key = {"groups": "user", "windows": "[minute, user]", "rows": "id"}[base]
        moved = properties(model=f"    config: {{materialized: table, unique_key: {key}{emit}}}\n")
        yield edit(
            f"the config moves to YAML ({base})", "same", sql, {"models/NAME.yml": properties()},
            {"models/NAME.yml": moved}, query,
        )  # fmt: skip


MACRO = "{{% macro much_NAME(column) %}}{}{{% endmacro %}}\n"
MUCH = "{{ column }} * 2"


def of_macros():
    group = table("user", "select user, sum({{ much_NAME('value') }}) as total from SOURCE group by user")
    row = table("id", "select id, {{ much_NAME('value') }} as much from SOURCE")
    path = "macros/NAME.sql"
    for base, sql, counted in (("groups", group, "rebuild"), ("rows", row, "stored")):
        edits = (
            ("another factor in a macro", counted, MACRO.format("{{ column }} * 3")),
            ("spaces in a macro", "same", MACRO.format("\n  {{ column }}\n  *  2\n")),
            ("a comment in a macro", "same", MACRO.format("{# twice #}" + MUCH)),
            ("an SQL comment in a macro", "same", MACRO.format("/* twice */ " + MUCH)),
            ("another name of an argument", "same", MACRO.format(MUCH).replace("column", "what")),
            (
                "another macro in the file",
                "same",
                MACRO.format(MUCH) + MACRO.replace("much", "more").format("1"),
            ),
            ("factors of a macro swapped", "same", MACRO.format("2 * {{ column }}")),
        )
        for name, verdict, after in edits:
            yield edit(f"{name} ({base})", verdict, sql, {path: MACRO.format(MUCH)}, {path: after})


FUNCTION = "def scored_NAME(value: float) -> float:\n    result = value * 2\n    return result\n"


def of_functions():
    group = table("user", "select user, sum(scored_NAME(value)) as total from SOURCE group by user")
    row = table("id", "select id, scored_NAME(value) as score from SOURCE")
    path = "macros/NAME.py"
    for base, sql, counted in (("groups", group, "rebuild"), ("rows", row, "stored")):
        edits = (
            ("another factor in a function", counted, FUNCTION.replace("2", "3")),
            ("a comment in a function", "same", FUNCTION.replace("    result", "    # twice\n    result", 1)),
            ("a docstring of a function", "same", FUNCTION.replace(":\n", ':\n    """Twice."""\n', 1)),
            ("blank lines in a function", "same", FUNCTION.replace("    return", "\n    return")),
            ("another function in the file", "same", FUNCTION + FUNCTION.replace("scored", "other")),
            ("an import that nobody uses", "same", "import math\n\n\n" + FUNCTION),
            ("parentheses in a function", "same", FUNCTION.replace("value * 2", "(value * 2)")),
        )
        for name, verdict, after in edits:
            yield edit(f"{name} ({base})", verdict, sql, {path: FUNCTION}, {path: after})


SEED = "kind,name,note\nc,click,x\nd,drag,y\ne,enter,z\n"


def of_seeds():
    joined = "SOURCE e join {{ ref('kinds_NAME') }} k on k.kind = e.kind"
    group = table("name", f"select k.name, count(*) as events from {joined} group by k.name")
    row = table("id", f"select e.id, k.name from {joined}")
    path = "seeds/kinds_NAME.csv"
    for base, sql, counted in (("groups", group, "mixed"), ("rows", row, "stored")):
        edits = (
            ("another name in a seed", counted, SEED.replace("drag", "drop")),
            ("a row more in a seed", counted, SEED + "a,again,w\n"),
            ("a row less in a seed", counted, SEED.replace("e,enter,z\n", "")),
            ("quotes in a seed", counted, SEED.replace("drag", '"drag"')),
        )
        for name, verdict, after in edits:
            yield edit(f"{name} ({base})", verdict, sql, {path: SEED}, {path: after})


PROJECT = '[project]\nname = "shop"\n[tool.millstream]\nname = "shop"\nvars = {{ least = {}, unread = {} }}\n'


def of_variables():
    """Yield edits of one file, which all of these models read."""
    group = table(
        "user", "select user, count(*) as events from SOURCE where id > {{ var('VAR') }} group by user"
    )
    row = table("id", "select id, user from SOURCE where id > {{ var('VAR') }}")
    before, after = {"pyproject.toml": PROJECT.format(3, 1)}, {"pyproject.toml": PROJECT.format(5, 2)}
    yield edit("another variable (groups)", "mixed", group.replace("VAR", "least"), before, after)
    yield edit("another variable (rows)", "stored", row.replace("VAR", "least"), before, after)
    for base, sql in BASES.items():
        yield edit(f"a variable that nobody reads ({base})", "same", sql, before, after)


UNSEEN = frozenset(
    (
        "a longer delay (groups)",
        "a delay in other words (groups)",
        "a delay in other words (windows)",
        "quotes in a seed (groups)",
        "quotes in a seed (rows)",
    )
)
"""Edits that change nothing, which nobody has proven yet."""
FILES = (
    *of_sources(),
    *of_derived(),
    *of_properties(),
    *of_macros(),
    *of_functions(),
    *of_seeds(),
    *of_variables(),
)
