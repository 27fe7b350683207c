"""Edits of whole projects that Spark would not notice: files before and after, and the verdict."""

from typing import NamedTuple

from edits.bases import EVENTS, OTHERS, Verdict, table


class ProjectEdit(NamedTuple):
    name: str
    model: str
    """The table, or the sink with one row for each key, whose rows are compared."""
    verdict: Verdict
    before: dict[str, str]
    after: dict[str, str]
    """The files that are edited; others stay."""


def sink(key, sql, name):
    return f"{{{{ config(materialized='sink', topic=target.name ~ '_{name}', key={key!r}) }}}}\n{sql}"


def of_model(name, model, verdict, sql, *replaced, **files):
    """Return an edit of one model's SQL."""
    after = sql
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        assert old in after, (name, old)
        after = after.replace(old, new)
    path = f"models/{model}.sql"
    return ProjectEdit(name, model, verdict, {path: sql, **files}, {path: after})


def typed(source, type_):
    """Return a source of two texts that both look like numbers."""
    return f"""
sources:
  - name: {source}
    topics:
      - name: pairs
        key: {{name: user, type: string}}
        columns:
          - {{name: a, type: {type_}}}
          - {{name: b, type: {type_}}}
"""


def of_types(name, model, verdict, sql):
    """Return an edit of the types of a source's columns."""
    path = f"models/{model}_source.yml"
    files = {f"models/{model}.sql": sql.replace("PAIRS", f"{{{{ source('{model}', 'pairs') }}}}")}
    return ProjectEdit(
        name, model, verdict, files | {path: typed(model, "string")}, {path: typed(model, "int")}
    )


TYPES = (
    of_types(
        "types of columns that a key compares", "t_key", "rebuild",
        table("less", "select a < b as less, count(*) as events from PAIRS group by a < b"),
    ),
    of_types(
        "types of columns that an aggregate compares", "t_sum", "rebuild",
        table("user", "select user, count_if(a < b) as less from PAIRS group by user"),
    ),
    of_types(
        "types of columns that a filter compares", "t_filter", "mixed",
        table("user", "select user, count(*) as less from PAIRS where a < b group by user"),
    ),
    of_types(
        "types of columns that a stored row compares", "t_row", "stored",
        table("user", "select user, a < b as less from PAIRS"),
    ),
    of_types(
        "types of columns that nothing reads", "t_none", "same",
        table("user", "select user, count(*) as events from PAIRS group by user"),
    ),
)  # fmt: skip

SUMS = f"select user, count(*) as events from {EVENTS} group by user"
MATERIALIZED = (
    of_model(
        "a sink becomes a table", "m_table", "rebuild", sink("user", SUMS, "m_table"),
        sink("user", SUMS, "m_table"), table("user", SUMS),
    ),
    of_model(
        "a table becomes a sink", "m_sink", "rebuild", table("user", SUMS),
        table("user", SUMS), sink("user", SUMS, "m_sink"),
    ),
    of_model(
        "another topic of a sink", "m_topic", "rebuild", sink("user", SUMS, "m_topic"),
        "_m_topic'", "_other'",
    ),
    of_model(
        "another format of keys", "m_keys", "stored", sink("user", SUMS, "m_keys"),
        "key='user'", "key='user', key_format='json'",
    ),
    of_model(
        "more partitions of a new topic", "m_parts", "same", sink("user", SUMS, "m_parts"),
        "key='user'", "key='user', partitions=3",
    ),
)  # fmt: skip


def data_test(model, severity, condition):
    return f"""
models:
  - name: {model}
    columns:
      - name: id
        tests: [{{expression: {{name: {model}_id, expression: "{condition}", severity: {severity}}}}}]
"""


def of_tests(name, model, verdict, before, after, **files):
    """Return an edit of a data test of the first of some models: severities, and maybe conditions."""
    models = {f"models/{file}.sql": sql for file, sql in files.items()}
    path, first = f"models/{model}.yml", next(iter(files))
    return ProjectEdit(
        name, model, verdict, models | {path: data_test(first, *before)}, {path: data_test(first, *after)}
    )


SEVENTHS = "id % 7 <> 3"
ROWS = table("id", f"select id, user from {EVENTS}")
TESTED = (
    of_tests(
        "a test begins to drop rows that a sum reads", "c_sum", "mixed", ["warn", SEVENTHS], ["drop", SEVENTHS],
        c_sent=sink("user", f"select user, id, value from {EVENTS}", "c_sent"),
        c_sum=table("user", "select user, count(*) as events from {{ ref('c_sent') }} group by user"),
    ),
    of_tests("a test begins to drop rows of a table", "c_row", "stored", ["warn", SEVENTHS], ["drop", SEVENTHS], c_row=ROWS),
    of_tests("a test no longer drops rows of a table", "c_all", "stored", ["drop", SEVENTHS], ["warn", SEVENTHS], c_all=ROWS),
    of_tests(
        "a test drops other rows of a table", "c_more", "stored", ["drop", SEVENTHS], ["drop", "id % 5 <> 3"], c_more=ROWS
    ),
    of_tests(
        "a test drops what stopped it before", "c_drop", "same", ["error", "id >= 0"], ["drop", "id >= 0"], c_drop=ROWS
    ),
    of_tests(
        "a test that keeps no row out", "c_none", "same", ["warn", SEVENTHS], ["error", "id >= 0"], c_none=ROWS
    ),
)  # fmt: skip

SEED = "kind,name\nc,click\nd,drag\ne,enter\n"


def of_seed(name, model, verdict, sql):
    """Return an edit of the rows of a seed."""
    seed = f"seeds/{model}_kinds.csv"
    files = {f"models/{model}.sql": sql.replace("SEED", f"{{{{ ref('{model}_kinds') }}}}"), seed: SEED}
    return ProjectEdit(
        name, model, verdict, files, {seed: SEED.replace("drag", "drop").replace("enter", "drop")}
    )


USERS = table("user", f"select user, max(kind) as kind from {OTHERS} group by user")
LOOKED_UP = "select u.kind, count(*) as events from {} e join {{{{ ref('u_users') }}}} u on u.user = e.user group by u.kind"
LIMITED = table("id", f"select id, at from {EVENTS}", order_by="at", retention="1 minute")
READ = (
    of_seed(
        "rows of a seed that a sum reads", "s_sum", "mixed",
        table("name", f"select k.name, count(*) as events from {EVENTS} e join SEED k on k.kind = e.kind group by k.name"),
    ),
    of_seed(
        "rows of a seed that a table reads", "s_row", "stored",
        table("id", f"select e.id, k.name from {EVENTS} e left join SEED k on k.kind = e.kind"),
    ),
    of_seed(
        "rows of a seed in a condition", "s_in", "mixed",
        table(
            "user",
            f"select user, count(*) as events from {EVENTS}\n"
            "where kind in (select kind from SEED where name = 'drag') group by user",
        ),
    ),
    of_seed(
        "rows of a seed that a sink reads", "s_sent", "same",
        sink("id", f"select e.id, k.name from {EVENTS} e left join SEED k on k.kind = e.kind", "s_sent"),
    ),
    ProjectEdit(
        "the SQL of a table that a sum looks up", "u_sum", "mixed",
        {"models/u_users.sql": USERS, "models/u_sum.sql": table("kind", LOOKED_UP.format(EVENTS))},
        {"models/u_users.sql": USERS.replace("max", "min")},
    ),
    of_model("a longer retention", "r_longer", "stored", LIMITED, "1 minute", "3 hours"),
    of_model("no more retention", "r_ever", "stored", LIMITED, ", retention='1 minute'", ""),
    of_model(
        "a shorter retention", "r_shorter", "stored", LIMITED.replace("1 minute", "3 hours"), "3 hours", "1 minute"
    ),
    of_model(
        "a first retention", "r_first", "stored", LIMITED.replace(", retention='1 minute'", ""), "order_by='at'",
        "order_by='at', retention='1 minute'",
    ),
)  # fmt: skip

IN_SEED = "kind in (select kind from {{ ref('o_kinds') }})"
WITH_SUBQUERY = (
    of_model(
        "a window next to a subquery", "o_window", "rebuild",
        table(
            "minute",
            "select window(at, '1 minute').start as minute, count(*) as events\n"
            f"from {EVENTS} where {IN_SEED} group by window(at, '1 minute')",
            emit="on_close",
        ),
        "'1 minute'", "'2 minutes'", **{"seeds/o_kinds.csv": SEED},
    ),
    of_model(
        "DISTINCT next to a subquery", "o_distinct", "rebuild",
        table("user", f"select distinct user from {EVENTS} where {IN_SEED}"),
        "distinct user", "distinct upper(user) as user",
    ),
    of_model(
        "a sum that is declared opaque", "o_sum", "rebuild",
        table("user", f"select user, sum(id) as total from {EVENTS} where {IN_SEED} group by user", opaque=True),
        "sum(id)", "max(id)",
        **{"models/o_sum.yml": "models: [{name: o_sum, columns: [{name: user, type: string}, {name: total, type: bigint}]}]"},
    ),
)  # fmt: skip

JOINED = table(
    "id",
    f"select e.id, e.user, o.kind as other from (select * from {EVENTS} where id >= 0) e join {OTHERS} o\n"
    "on e.user = o.user and o.at between e.at - interval 1 minute and e.at + interval 1 minute",
)
LET_OUT = (
    of_model(
        "a filter on a window's key", "l_key", "rebuild",
        table(
            ["minute", "user"],
            "select window(at, '10 minutes').start as minute, user, count(*) as events\n"
            f"from {EVENTS} group by window(at, '10 minutes'), user",
            emit="on_close",
        ),
        " group by", " where user <> 'ax' group by",
    ),
    of_model(
        "a condition on the left of a join", "l_left", "rebuild", JOINED,
        "e.user = o.user", "e.user = o.user and e.value > 5",
    ),
    of_model(
        "a condition on the right of a join", "l_right", "rebuild", JOINED,
        "e.user = o.user", "e.user = o.user and o.value > 5",
    ),
    of_model("a filter before a join", "l_before", "rebuild", JOINED, "id >= 0", "value > 5"),
)  # fmt: skip

RATES = "FACTOR = {}\n\n\ndef times(value: float) -> float:\n    return value * FACTOR\n"
RATED = "from rates.{0} import times\n\n\ndef {0}(value: float) -> float:\n    return times(value)\n"


def of_import(name, model, verdict, sql):
    """Return an edit of a module that a function imports."""
    files = {
        f"models/{model}.sql": sql.replace("RATED", f"rated_{model}"),
        f"rates/rated_{model}.py": RATES.format(2),
        f"macros/rated_{model}.py": RATED.format(f"rated_{model}"),
    }
    return ProjectEdit(name, model, verdict, files, {f"rates/rated_{model}.py": RATES.format(3)})


IMPORTED = (
    of_import(
        "a function's import in a sum", "i_sum", "rebuild",
        table("user", f"select user, sum(RATED(value)) as total from {EVENTS} group by user"),
    ),
    of_import(
        "a function's import in a row", "i_row", "stored",
        table("id", f"select id, RATED(value) as much from {EVENTS}"),
    ),
)  # fmt: skip

SETUP = "import RATES\n\nRATES.FACTOR = {}\n"
RUN = "import setup_{0}\n\nfrom rates.{0} import times\n\n\ndef {0}(value: float) -> float:\n    return times(value)\n"
SET = "FACTOR = 1\nglobals()['FACTOR'] = {}\n\n\ndef {}(value: float) -> float:\n    return value * FACTOR\n"


def of_effect(name, model, verdict, sql):
    """Return an edit of a module that is imported for what it changes in another one."""
    function = f"rated_{model}"
    files = {
        f"models/{model}.sql": sql.replace("RATED", function),
        f"rates/{function}.py": RATES.format(1),
        f"setup_{function}.py": SETUP.replace("RATES", f"rates.{function}").format(2),
        f"macros/{function}.py": RUN.format(function),
    }
    path = f"setup_{function}.py"
    return ProjectEdit(name, model, verdict, files, {path: files[path].replace("2", "3")})


def of_globals(name, model, verdict, sql):
    """Return an edit of code that sets a name of its own file."""
    function = f"set_{model}"
    files = {
        f"models/{model}.sql": sql.replace("RATED", function),
        f"macros/{function}.py": SET.format(2, function),
    }
    return ProjectEdit(name, model, verdict, files, {f"macros/{function}.py": SET.format(3, function)})


EFFECTS = tuple(
    of(f"{name} in a {what}", f"{model}_{what}", verdict, sql)
    for name, model, of in (
        ("a module imported for its effect", "e", of_effect),
        ("a name set by globals()", "g", of_globals),
    )
    for what, verdict, sql in (
        (
            "sum",
            "rebuild",
            table("user", f"select user, sum(RATED(value)) as total from {EVENTS} group by user"),
        ),
        ("row", "stored", table("id", f"select id, RATED(value) as much from {EVENTS}")),
    )
)

REFERENCE = """
sources:
  - name: {}
    topics:
      - name: others
        table: true
        key: {{name: user, type: string}}
        columns: [{{name: id, type: int}}, {{name: value, type: double}}, {{name: twice, type: double, from: value * {}}}]
"""


def of_reference(name, model, verdict, sql):
    """Return an edit of a computed column of a reference topic."""
    path = f"models/{model}_source.yml"
    files = {
        f"models/{model}.sql": sql.replace("OF", f"{{{{ source('{model}', 'others') }}}}"),
        path: REFERENCE.format(model, 2),
    }
    return ProjectEdit(name, model, verdict, files, {path: REFERENCE.format(model, 3)})


JOINED_OF = f"{EVENTS} e join OF p on p.user = e.user"
REFERENCES = (
    of_reference(
        "a computed column of a reference topic in a sum", "p_sum", "rebuild",
        table("user", f"select e.user, sum(p.twice) as total from {JOINED_OF} group by e.user"),
    ),
    of_reference(
        "a computed column of a reference topic in a row", "p_row", "stored",
        table("id", f"select e.id, p.twice from {JOINED_OF}"),
    ),
    of_reference(
        "a computed column of a reference topic in a condition", "p_on", "mixed",
        table("user", f"select e.user, count(*) as n from {JOINED_OF} and p.twice > 9 group by e.user"),
    ),
    of_reference(
        "a computed column of a reference topic in a subquery", "p_in", "mixed",
        table("user", f"select user, count(*) as n from {EVENTS} where id in (select cast(twice as int) from OF) group by user"),
    ),
)  # fmt: skip

EDITS = (*REFERENCES, *TYPES, *MATERIALIZED, *TESTED, *READ, *WITH_SUBQUERY, *LET_OUT)
