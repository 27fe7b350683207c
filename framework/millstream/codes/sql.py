"""MS4xx: SQL."""

from millstream.codes import Code

CODES = {
    "MS401": Code("SQL syntax", "The SQL can't be read. The caret stands where reading stopped."),
    "MS402": Code("Unknown column", "No relation in scope has a column of this name."),
    "MS403": Code(
        "Ambiguous column", "Several relations in scope have this column: write which one, `orders.id`."
    ),
    "MS404": Code(
        "Unknown relation",
        "A table is named that is neither a CTE nor came from `ref()` or `source()`. Millstream must know "
        "every input, so write `{{ ref('name') }}` or `{{ source('source', 'topic') }}`.",
    ),
    "MS405": Code("Unknown function", "Neither Spark nor a file of `macros/` has a function of this name."),
    "MS406": Code("Wrong number of arguments", "The function takes another number of arguments."),
    "MS407": Code("Wrong type", "An operator or function can't take a value of this type."),
    "MS408": Code(
        "Duplicate column",
        "Two columns of the result have one name (Spark does not tell upper from lower case).",
    ),
    "MS409": Code("Column without a name", "Every computed column of a model needs `as name`."),
    "MS410": Code(
        "Not one SELECT", "A model is one query: a SELECT, UNION or WITH … SELECT, without `;` after it."
    ),
    "MS411": Code(
        "Neither grouped nor aggregated",
        "With GROUP BY, every column must be a group key or stand inside an aggregate.",
    ),
    "MS412": Code("Sets of different columns", "The sides of a UNION must have the same number of columns."),
    "MS413": Code(
        "Ambiguous relation",
        "Two relations of one FROM have the name that stands before a column: give one an alias of its own.",
    ),
    "MS414": Code(
        "Columns not known",
        "The SQL is not understood, so its columns are not known: declare them with types in YAML.",
    ),
    "MS416": Code(
        "Reserved column name",
        "`_deleted`, `_bad` and `_record` are columns that queries add to rows on their way. Give the column another "
        "name.",
    ),
    "MS430": Code(
        "Time travel",
        "`TIMESTAMP AS OF`, `VERSION AS OF` and `FOR SYSTEM_TIME AS OF` are not supported: a stream that joins a table "
        "reads the newest version of it in each batch, which is what the join does without the clause.",
    ),
    "MS431": Code(
        "Subquery not allowed here",
        "Spark runs subqueries neither within a lambda, nor IN or EXISTS as an argument of a function that makes rows. "
        "Join what the subquery reads, and use its column.",
    ),
    "MS432": Code(
        "Unknown literal",
        "Spark SQL reads this as something else than what it looks like. It has decimal numbers (`1`, `1.5`, `1e3`, with "
        "L, S, Y, D, F or BD after them), texts (`'a'`, `r'a'`), bytes (`X'1F'`) and typed texts "
        "(`date'2026-01-01'`, `timestamp'…'`, `interval '1' day`).",
    ),
    "MS433": Code(
        "Clause of another database",
        "The SQL is that of Spark; this clause is known elsewhere and would have no effect.",
    ),
    "MS434": Code(
        "Bad duration",
        "The durations of `window` and `session_window` are texts such as `'5 minutes'` or `'1 hour 30 minutes'`: "
        "weeks, days, hours, minutes, seconds, milliseconds and microseconds, in words. A window is longer than nothing "
        "and has no months; its slide is not longer than the window, its start shorter than its slide.",
    ),
    "MS435": Code(
        "Several windows in one GROUP BY",
        "Spark puts a row into the windows of one `window` or `session_window` only. Write a model for each.",
    ),
    "MS436": Code(
        "Random value in an aggregate or a join",
        "Spark calls `rand()`, `uuid()` and the like neither within an aggregate nor in JOIN … ON. Make a column of it "
        "in a subquery or CTE.",
    ),
    "MS415": Code(
        "Aggregate not allowed here", "WHERE, JOIN … ON and GROUP BY are evaluated before any aggregate."
    ),
}
