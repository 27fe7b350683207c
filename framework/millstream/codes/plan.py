"""Codes of the plan: what can't be kept up to date while rows come."""

from millstream.codes import Code

CODES = {
    "MS520": Code(
        "There is no rule of this name",
        "`optimization` of a target and `optimize` of a model are `all`, `none` or names of rules; "
        "`millstream explain` shows which of them did something.",
    ),
    "MS521": Code(
        "A table's retention needs a time",
        "`retention` keeps a row while its `order_by` is within that time of the newest one, so `order_by` is a "
        "timestamp or date. A number of milliseconds becomes one by `timestamp_millis(...)` in the model.",
    ),
    "MS522": Code(
        "An option of state means nothing here",
        "`state: {ttl}` is how long a Python function with keyed state remembers a key that does not come again; "
        "such a function keeps its state in RocksDB. Other states forget by other options: a dedupe by `within`, a "
        "window by its watermark's delay. `memory` bounds RocksDB, and so goes with `store: rocksdb`.",
    ),
    "MS523": Code(
        "A dedupe within a time needs the time of its rows",
        "`dedupe: {within}` forgets a key by event time: the model's SELECT keeps the column of its source's "
        "watermark, or `config(watermark=...)` names another one. It must be one: rows of a join may have two.",
    ),
    "MS524": Code(
        "An aggregate of what is distinct reads a stream",
        "`count(distinct x)` and the like would have to remember every value, which Spark's streaming aggregates "
        "do not. `size(collect_set(x))` does, in the open; `approx_count_distinct(x)` needs little memory; "
        "`dedupe` forgets by event time.",
    ),
    "MS525": Code(
        "A data test can't keep rows out here",
        "`severity: drop` and `dead_letter` are obeyed while a model is stored: a row that is wrong is left out of its "
        "topic or table. So the model must be a sink or a table, and the test one of a single row: `not_null`, "
        "`accepted_values`, or an `expression` without subqueries, Python functions and random values.",
    ),
    "MS526": Code(
        "A second watermark on the way of a row",
        "Spark takes one watermark between a topic and what is made of it. A source's is that of all who read it; "
        "`config(watermark=...)` and `WATERMARK ... DELAY OF` are for sources that have none.",
    ),
    "MS510": Code(
        "Rows that change later are read as if they were final",
        "A relation holds either events, which are only added, or the newest row per key, as an aggregate "
        "without `emit='on_close'` does. An aggregate, a dedupe, a UNION or an expansion over the latter "
        "would count old versions of a row as well as new ones. Read the events, or let windows emit on close.",
    ),
    "MS511": Code(
        "The key of rows that change is lost",
        "A changed row replaces the one with its key, so every SELECT over such rows keeps the columns of "
        "the key, or what they can be told from: the start of a window, `unix_millis(window.start)`, a cast that "
        "loses nothing, or one column for all of them, such as `to_json(struct(user_id, window.start))`. "
        "`concat(user_id, '@', unix_millis(window.start))` is one where `user_id` is never NULL, since digits hold "
        "no `@`; two texts that are joined can run together: ('a', 'bc') and ('ab', 'c').",
    ),
    "MS512": Code(
        "The emit option does not fit the aggregate",
        "`emit='on_close'` waits until a window can't change any more: it needs a window over a column with"
        " a watermark. A session has no fixed bounds before it closes, so it can only be emitted on close.",
    ),
    "MS513": Code(
        "The join can't be kept up to date",
        "Streams of events are joined with each other, or with what is at rest: a table, a seed, a "
        "reference topic. Rows that change later can't be matched again; store them as a table and join "
        "that.",
    ),
    "MS514": Code(
        "SQL that is not understood reads rows that change later",
        "Nobody can tell whether such SQL counts a row twice when it changes. Write that part in SQL that "
        "is understood, or read a table instead.",
    ),
    "MS515": Code(
        "A join of streams keeps rows forever",
        "An outer join must know when no partner can come any more. Give both sources a watermark and "
        "compare their event times in ON, such as `a.at between b.at - interval 1 hour and b.at`.",
    ),
    "MS516": Code(
        "Whether a row that changes meets another can't be told",
        "A semi or anti join over rows that change tells for each row whether it meets one, to delete it when "
        "it does not. So a column of each side is compared by `=`; other conditions ask something of one side "
        "alone. Make a column of what else is compared, in a subquery on either side.",
    ),
    "MS517": Code(
        "A subquery reads a stream",
        "A subquery in an expression gives one value for every row, so it must read what is at rest: a "
        "table, a seed or a reference topic (`table: true`). Join a stream instead.",
    ),
    "MS518": Code(
        "The key does not tell the rows apart",
        "A topic or table of rows that change has a key of all the columns that tell them apart, and of nothing "
        "else; otherwise one row would overwrite another, or an old version would stay alongside the new one. A "
        "list of columns always works: `key=['user_id', 'window_start']`. A calculated key must differ wherever "
        "they do: `concat` is NULL where a part is (unless a `not_null` test of the key keeps such rows out), two "
        "free texts run together, and a local time comes twice when clocks are put back.",
    ),
    "MS519": Code(
        "An option names no column of the model",
        "`key`, `unique_key`, `order_by`, `timestamp`, the keys of `dedupe` and the column of `watermark` "
        "are columns of the model's own SELECT.",
    ),
}
