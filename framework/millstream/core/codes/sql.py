"""MS4xx: SQL."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS401 SQL syntax
    The SQL can't be parsed. The caret marks where parsing stopped.
MS402 Unknown column
    No relation in scope has a column with this name.
MS403 Ambiguous column
    Several relations in scope have this column. Qualify it, as in `orders.id`.
MS404 Unknown relation
    The query names a table that is neither a CTE nor comes from `ref()` or `source()`. Millstream must know
    every input, so write `{{ ref('name') }}` or `{{ source('source', 'topic') }}`.
MS405 Unknown function
    Neither Spark nor a file of `macros/` has a function with this name.
MS406 Wrong number of arguments
    The function takes a different number of arguments.
MS407 Wrong type
    An operator or function does not accept a value of this type, or the type of a column has more than 20,000
    fields within fields. A constant text next to a number, a time or a boolean is cast to that type, as in
    `amount > 'none'`: if the text can't be one, every row that reaches it would fail.
MS408 Duplicate column
    Two columns of the result have the same name (Spark ignores case).
MS409 Column without a name
    Every computed column of a model needs `as name`.
MS410 Not one SELECT
    A model is one query: a SELECT, UNION or WITH … SELECT, without `;` after it.
MS411 Neither grouped nor aggregated
    With GROUP BY, every column must be a group key or inside an aggregate.
MS412 UNION of different columns
    The sides of a UNION must have the same number of columns.
MS413 Ambiguous relation
    Two relations in one FROM have the name that qualifies this column. Give one of them a different alias.
MS414 Unknown columns
    The SQL is opaque, so its columns are unknown. Declare them with types in YAML.
MS416 Reserved column name
    `_deleted`, `_bad` and `_record` are columns that queries add to rows. Rename the column.
MS430 Time travel
    `TIMESTAMP AS OF` and `VERSION AS OF` are not supported: a stream that joins a table reads the newest
    version of it in each batch. `FOR SYSTEM_TIME AS OF` a column joins a table or a reference topic with
    `versions`, which has a row for each version of a row: see [versions of rows](versions.md). To read it in
    other places, compare `valid_from` and `valid_to`.
MS431 Subquery not allowed here
    Spark does not support subqueries within a lambda, or IN and EXISTS as arguments of a table function. Join
    the relation that the subquery reads, and use its column.
MS432 Unknown literal
    Spark SQL reads this differently from what it looks like. It has decimal numbers (`1`, `1.5`, `1e3`,
    optionally with the suffix L, S, Y, D, F or BD), texts (`'a'`, `r'a'`), bytes (`X'1F'`) and typed texts
    (`date'2026-01-01'`, `timestamp'…'`, `interval '1' day`).
MS433 Clause of another database
    Models are written in Spark SQL; this clause belongs to another database and would have no effect.
MS434 Invalid duration
    The durations of `window` and `session_window` are texts such as `'5 minutes'` or `'1 hour 30 minutes'`:
    weeks, days, hours, minutes, seconds, milliseconds and microseconds, in words. A window must be longer
    than zero and can't use months; its slide can't be longer than the window, and its start must be shorter
    than its slide.
MS435 Several windows in one SELECT
    Spark can only assign a row to one `window` or `session_window`. Write a separate model or subquery for
    each.
MS436 Random value in an aggregate or a join
    Spark does not support `rand()`, `uuid()` and the like within an aggregate or in JOIN … ON. Compute the
    value as a column in a subquery or CTE.
MS437 Unknown expression
    The expression belongs to another database, such as `at time zone` or `> any (select …)`, or is newer than
    what Millstream supports of Spark SQL. A function usually does the same: `from_utc_timestamp(ts,
    'Europe/Berlin')`.
MS440 Wrong use of OVER, FILTER or WITHIN GROUP
    Spark can't compute this call over this window: a rank without an order, a frame that ends before it
    begins, `distinct` with OVER, FILTER after a function that is no aggregate, and the like.
MS441 Wrong LIMIT
    LIMIT and OFFSET take a constant of type `int` that is not negative.
MS442 Column of the same SELECT not allowed here
    Later items of a SELECT list can use the names of earlier ones, but not in OVER, in an aggregate or in
    a function that returns rows.
MS443 Outer column not allowed here
    A subquery can read columns of the enclosing query in WHERE and HAVING, but not within an aggregate or a
    window function, nor in the SELECT list of a query with groups. It can't read columns of a query two
    levels out.
MS444 Wrong number of column names
    `with t(a, b) as (…)` and `(…) as t(a, b)` must name each column of the query.
MS415 Aggregate not allowed here
    WHERE, JOIN … ON and GROUP BY are evaluated before any aggregate. ORDER BY can have one over the rows of
    a group, but not next to a window function, after a HAVING with an aggregate that SELECT does not have, or
    of a column whose name SELECT gives to another one. Name the aggregate in SELECT, and order by its name.
""")
