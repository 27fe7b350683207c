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
    "MS527": Code(
        "A join of two tables",
        "Each change of the left table looks up the newest row of the right one, so a change of the right table alone "
        "would never reach the result. Join the events that the left table is built from with the right table, or join "
        "both tables where they are read.",
    ),
    "MS528": Code(
        "Windows close over a join without time bounds",
        "A join without bounds of time keeps rows forever, and gives rows that are older than the watermark: a closing "
        "window above it would drop them as late. Compare the event times of both sides in ON, such as "
        "`a.at between b.at - interval 1 hour and b.at`.",
    ),
    "MS529": Code(
        "Two steps can't share a streaming query",
        "Spark runs some steps that keep state in queries of their own: see "
        "[what may follow what](streaming.md). Between two models Millstream puts a topic; within one model it can't. "
        "Make the inner step a model of its own.",
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
        "that. Two streams are joined by at least one comparison with `=` of a column of each side.",
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
    "MS530": Code(
        "A window function reads a stream",
        "Spark's streaming has no `row_number`, `rank`, `lag`, `sum(…) over (…)` and the like: each new row could "
        "change what was said of all rows before. A table with `unique_key` and `order_by` holds the newest row per "
        "key; `max_by`, `min_by` and `collect_list` with GROUP BY keep the best ones.",
    ),
    "MS531": Code(
        "ORDER BY or LIMIT over a stream",
        "A stream has no end, so it has no last row to sort by, and its first rows depend on when they are read. "
        "Sort what is stored (`millstream query`), or keep the best of each group with `max_by` or `min_by`.",
    ),
    "MS532": Code(
        "INTERSECT or EXCEPT over a stream",
        "Spark's streaming compares no sets of rows. SELECT DISTINCT with LEFT SEMI JOIN or LEFT ANTI JOIN does the "
        "same, with a table, a seed or a reference topic on the right.",
    ),
    "MS533": Code(
        "ROLLUP, CUBE or GROUPING SETS over a stream",
        "Rows of different groupings have no key in common that a table or topic could keep them by. Write one "
        "model for each grouping.",
    ),
    "MS534": Code(
        "TABLESAMPLE over a stream",
        "Spark's streaming takes no samples. A condition on a hash of the key does, and takes the same keys in each "
        "run: `where pmod(xxhash64(id), 100) < 5`.",
    ),
    "MS535": Code(
        "PIVOT over a stream",
        "Spark's streaming can't pivot. One aggregate for each value does the same: "
        "`sum(amount) filter (where kind = 'a') as a`.",
    ),
    "MS536": Code(
        "A recursive CTE reads a stream",
        "Spark runs a recursion over rows at rest only. Join as many steps as there can be, or list all ancestors "
        "in a seed.",
    ),
    "MS537": Code(
        "A session over all rows of a stream",
        "Spark keeps sessions per key. Add one to GROUP BY: `group by session_window(at, '5 minutes'), user_id`.",
    ),
    "MS538": Code(
        "monotonically_increasing_id() over a stream",
        "It would begin again with each batch. `concat_ws('-', _topic, _partition, _offset)` identifies a record, and "
        "`uuid()` gives each row another value.",
    ),
    "MS539": Code(
        "SQL that is not understood keeps state over a stream",
        "Where part of a model's SQL is not understood, all of it runs as it is written, row by row. An aggregate, "
        "DISTINCT or a join of streams in it would keep a state of which nobody could tell what an edit means. Put "
        "what is not understood in a model of its own; `millstream explain` lists it.",
    ),
    "MS540": Code(
        "A UNION of a stream with rows at rest",
        "Spark's streaming unites streams with streams. Rows of a seed or a table, or rows that are written in SQL, "
        "would have to come once, before all others: send them to a topic, and unite the topics.",
    ),
    "MS541": Code(
        "A state by several event times",
        "Spark drops what it keeps of a group, or of a row that DISTINCT has seen, by one event time, and refuses "
        "keys that have two: a window next to the time that it is of, or the times of both sides of a join. Leave one "
        "out, or make a text of it.",
    ),
    "MS542": Code(
        "Columns next to a function with state",
        "A Python function that keeps state by key yields rows of its own, for one or for many of those that it is "
        "given. So only its columns can be selected; it can yield those of its rows that are wanted, such as the key.",
    ),
    "MS519": Code(
        "An option names no column of the model",
        "`key`, `unique_key`, `order_by`, `timestamp`, the keys of `dedupe` and the column of `watermark` "
        "are columns of the model's own SELECT.",
    ),
}
