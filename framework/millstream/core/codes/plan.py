"""Codes of the plan: what can't be kept up to date while rows come."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS520 Unknown optimizer rule
    `optimization` of a target and `optimize` of a model are `all`, `none` or names of rules; `millstream
    explain` shows which rules changed something.
MS521 An option needs a time
    `retention` keeps a row while its `order_by` is within that time of the newest one, and `delete_by`
    deletes rows up to the time of a request, so `order_by` must be a timestamp or date. Convert a number of
    milliseconds with `timestamp_millis(...)` in the model. The same holds for `timestamp` of a sink, the time
    of its records.
MS522 A state option has no effect here
    `state: {ttl}` is how long a Python function with keyed state remembers a key that does not come again,
    and how far apart by event time two rows of a join may be; such a function keeps its state in RocksDB.
    Other state expires by other options: a dedupe by `within`, a window by its watermark's delay. `memory`
    limits RocksDB, so it needs `store: rocksdb`.
MS523 `dedupe` with `within` needs the event time of its rows
    `dedupe: {within}` forgets a key by event time: the model's SELECT must keep the watermark column of its
    source, or `config(watermark=...)` must name another one. There must be exactly one; rows of a join may
    have two. `exact: true` is for a dedupe with `within`.
MS524 A DISTINCT aggregate reads a stream
    `count(distinct x)` and the like would have to remember every value, which Spark's streaming aggregates
    don't do. `size(collect_set(x))` does so explicitly; `approx_count_distinct(x)` needs little memory;
    `dedupe` forgets by event time.
MS525 A data test can't drop rows here
    `severity: drop` and `dead_letter` apply while a model is stored: rows that fail are kept out of its topic
    or table. So the model must be a sink or a table, and the test must need only a single row: for example
    `not_null`, or an `expression` without subqueries, Python functions and random values.
MS526 A second watermark in the flow of a row
    Spark allows one watermark between a topic and what is computed from it. The watermark of a source applies
    to all its readers; `config(watermark=...)` and `WATERMARK ... DELAY OF` are for sources without one.
MS527 A join of two tables
    Each change of the left table or reference topic looks up the newest row of the right one, so a change of
    the right one alone would never reach the result. Make the join a table, too: see
    [tables over tables](maintained.md). Or join the events that the left table is built from with the right
    table.
MS528 Windows close over a join without time bounds
    A join without time bounds keeps rows forever and produces rows that are older than the watermark; a
    closing window above it would drop them as late. Compare the event times of both sides in ON, such as
    `a.at between b.at - interval 1 hour and b.at`.
MS529 Two steps can't share a streaming query
    Spark runs some steps with state only in separate queries: see [what may follow what](streaming.md).
    Millstream connects two models by a topic, but can't do so within one model. Move the inner step to a
    separate model.
MS510 Rows that change later are read as if they were final
    A relation holds either events, which are only added, or the newest row per key, like an aggregate without
    `emit='on_close'`. An aggregate, a dedupe, a UNION or an expansion over the latter would count old
    versions of a row as well as new ones. Read the events, let windows emit on close, or make both models
    tables: see [tables over tables](maintained.md).
MS511 The key of rows that change is lost
    A changed row replaces the one with its key. So every SELECT over such rows must keep the key columns, or
    columns that determine them: the start of a window, `unix_millis(window.start)`, a lossless cast, or one
    column for all of them, such as `to_json(struct(user_id, window.start))`. `concat(user_id, '@',
    unix_millis(window.start))` is such a column if `user_id` is never NULL, since digits contain no `@`. Two
    concatenated texts are not unique: ('a', 'bc') and ('ab', 'c').
MS512 The emit option does not fit the aggregate
    `emit='on_close'` waits until a window can't change any more: it needs a window over a column with a
    watermark. A session has no fixed bounds before it closes, so it can only be emitted on close.
MS513 The join can't be kept up to date
    Streams of events can be joined with each other, or with rows at rest: a table, a seed, a reference topic.
    Rows that change later can't be matched again; store them as a table and join that. A join of two streams
    needs at least one comparison with `=` of a column of each side.
MS514 Opaque SQL reads rows that change later
    Millstream can't determine whether opaque SQL counts a row twice when it changes. Rewrite that part in SQL
    that Millstream analyzes, or read a table instead.
MS515 A join of streams keeps rows forever
    An outer or semi join must know when no match can come any more. Give both sources a watermark and compare
    their event times in ON, such as `a.at between b.at - interval 1 hour and b.at`. A left or semi join needs
    the lower bound of the left side's time, a right join that of the right side's, a full join both. Fields
    of a window (`window.end`) don't count: compare whole windows by `=`, or `window_time(window)`.
MS516 A semi or anti join over rows that change can't be kept up to date
    For each row that changes, the join must determine whether it still has a match, and delete it if not. So
    it compares a column of each side by `=`, and any other condition uses one side only. For other
    comparisons, add a column in a subquery on either side.
MS517 A subquery reads a stream
    A subquery in an expression gives one value for every row, so it must read rows at rest: a table, a seed
    or a reference topic (`table: true`). Join a stream instead.
MS518 The key does not identify rows
    A topic or table of rows that change needs a key of exactly the columns that identify a row. Otherwise one
    row would overwrite another, or an old version would stay next to the new one. A list of columns always
    works: `key=['user_id', 'window_start']`. A computed key must differ wherever they do: `concat` is NULL
    where a part is NULL (unless a `not_null` test of the key drops such rows), two concatenated texts are not
    unique, and a local time occurs twice when clocks are set back.
MS530 A window function reads a stream
    Spark's streaming has no `row_number`, `rank`, `lag`, `sum(…) over (…)` and the like: each new row could
    change the results of all earlier rows. A table with `unique_key` and `order_by` holds the newest row per
    key; `max_by`, `min_by` and `collect_list` with GROUP BY keep the best ones. Over rows that are stored in
    a table, also an append-only one, a table with `unique_key` can have window functions.
MS531 ORDER BY or LIMIT over a stream
    A stream has no end, so it can't be sorted, and its first rows depend on when they are read. Sort the
    stored rows (`millstream query`), or keep the best of each group with `max_by` or `min_by`.
MS532 INTERSECT or EXCEPT over a stream
    Spark's streaming can't compare sets of rows. Use SELECT DISTINCT with LEFT SEMI JOIN or LEFT ANTI JOIN
    instead, with a table, a seed or a reference topic on the right.
MS533 ROLLUP, CUBE or GROUPING SETS over a stream
    Rows of different groupings have no common key for a table or topic. Write one model for each grouping.
MS534 TABLESAMPLE over a stream
    Spark's streaming can't sample. Use a condition on a hash of the key, which takes the same keys in each
    run: `where pmod(xxhash64(id), 100) < 5`.
MS535 PIVOT over a stream
    Spark's streaming can't pivot. Write one aggregate for each value: `sum(amount) filter (where kind = 'a')
    as a`.
MS536 A recursive CTE reads a stream
    Spark only supports recursion over rows at rest. Write one join for each level, or list all ancestors in a
    seed.
MS537 A session over all rows of a stream
    Spark keeps sessions per key. Add a key to GROUP BY: `group by session_window(at, '5 minutes'), user_id`.
MS538 monotonically_increasing_id() over a stream
    It would start again in each batch. `concat_ws('-', _topic, _partition, _offset)` identifies a record, and
    `uuid()` gives each row a unique value.
MS539 Opaque SQL keeps state over a stream
    If part of a model's SQL is opaque, the whole model runs as written, row by row. With an aggregate,
    DISTINCT or a join of streams in it, Millstream could not determine what an edit means for the state. Move
    the opaque part to a separate model; `millstream explain` lists it.
MS540 A UNION of a stream with rows at rest
    Spark's streaming can only unite streams with streams. Rows of a seed, of a table, or written in SQL would
    have to come once, before all others. Send them to a topic, and unite the topics.
MS541 State with several event times
    Spark drops the state of a group, of a row that DISTINCT has seen, or of a side of a join, by one event
    time. It refuses rows with two: a window next to its own time column or `window_time(window)`, or the
    times of both sides of a join. Remove one below that step, or cast it to a string. The same holds for the
    rows of a Python function with keyed state, if it reads both: `timestamp(cast(seen as string))` is a plain
    timestamp. A topic has one event time: of the two times of a join that a sink selects, the last one.
MS542 Columns next to a function with state
    A Python function with keyed state yields its own rows, one for each input row or one for many. So only
    its columns can be selected. Let it yield the input columns you need, such as the key.
MS543 It is unknown which rows of a table a change touches
    A table over tables is kept equal to its SQL: the changed rows of its inputs determine which keys are
    touched, and only the rows with these keys are computed again. This needs a key whose columns are known
    before the aggregates and window functions of the outer SELECT are computed, joins that compare columns by
    `=`, and window functions with PARTITION BY. With `refresh='full'`, all rows are computed for each change,
    by any SQL; only the differences are stored.
MS544 An option does not apply to a table over tables
    Such a table is kept equal to its SQL. `order_by`, `delete_when`, `retention`, `dedupe`, `watermark`,
    `emit` and `state` are for rows that arrive one by one; write conditions and choices in the SQL.
MS545 A table over tables reads a table whose store keeps no versions
    The inputs of a table over tables need a store that keeps versions, so that it is known what changed
    between two of them. Delta and Iceberg do; databases and Parquet do not. The table itself can be in any
    store, if no other table reads it.
MS546 A table over tables calls a function that gives other values each time
    `rand()`, `uuid()`, `current_timestamp()` and the like return another value each time, so a table could
    not stay equal to its SQL. With `refresh='full'` and `every='1 minute'`, it is computed again that often.
    Or compute such a value where a row is first stored, and read its column. The same holds for Python
    functions that read the clock or chance, for TABLESAMPLE, and for views: if a view calls such a function
    over tables, make it a table that is computed again.
MS548 An option is for tables over tables
    `refresh` says how a table is kept equal to its SQL over other tables, also append-only ones. A table
    that reads a stream, or a view over a stream, is updated row by row. `every` limits how often `run`
    computes a table with `refresh='full'`.
MS549 The order of a window function is not unique
    `row_number`, `lag`, `first_value` and the like, and frames of ROWS, depend on the order of rows. Where
    ORDER BY leaves two rows of a partition equal, Spark takes them in any order: a table that is computed
    again, in other batches or after a rebuild, can have another row. Add columns to ORDER BY until no two
    rows are equal, such as the key of the table. There is no warning if PARTITION BY and ORDER BY contain the
    keys of what is read.
MS547 A metric that can't be computed
    A metric with `type` is computed by the query that stores its model, row by row. So its model is a sink or
    a table, its expression is one aggregate (`count`, `count_if`, `sum`; a gauge also has `min`, `max` and
    `avg`), or, for a histogram and a timer, a number of each row, and no row can make it fail.
MS697 A column of a type that can't be stored
    Tables can't hold intervals, and tables in Delta no arrays, maps or structs of NULLs without a type, such
    as `array()`. Records in JSON, XML and CSV can't hold intervals that readers could read again, and
    records in CSV can't hold variants. Cast such a column to text, or compute a number from the times.
MS698 A Python function where it can't be called
    SQL that is not analyzed clause by clause is passed to Spark as it is written (`millstream explain` says
    why it is opaque). It can't call Python functions; a separate model can contain the opaque part. And a
    table over tables can't call functions that return rows. It can call one that returns a list, and expand
    that with `explode` or, for rows of several columns, `inline`.
MS694 A sink or a table that reads only seeds
    A sink or a table is stored by a query that reads records as they arrive, or the changes of tables. Seeds
    are files, which models that join them read whole. Make the model a view: others join it like a seed.
MS681 Versions of a row need its time
    A table with `versions` over events puts each version of a row at its time, in whatever order they come:
    `order_by` names that time, which must be a timestamp. Over a table or an aggregate, whose rows replace
    each other, `order_by` can be left out: a version then begins when it is stored.
MS682 A column has the name of one that versions add
    A table or a reference topic with `versions` has the columns `valid_from` and `valid_to`. Give a column of
    the model or topic another name.
MS683 `versions` does not go with another option, or without one
    `versions` says how long a version is kept after its end, which `retention` can't. `refresh` is for a
    table that is kept equal to its SQL: keep the versions of its rows in a second table that selects from it.
    A topic with `versions` needs `table: true`: otherwise each of its records is a row that never changes.
MS684 A join finds all versions of a row
    A table or a reference topic with `versions` has a row for each version of a row, so a join that only
    compares the key finds all of them. Say in ON which one it is: `r.valid_to is null` for the newest, or
    compare `valid_from` and `valid_to` with a time, or join `FOR SYSTEM_TIME AS OF`.
MS685 Versions of a table over tables
    This SQL runs over rows at rest, and its table is kept equal to it. Its rows have no times, so its changes
    are versions only for a table that reads them: select from this one in a second table with `versions`.
MS686 This FOR SYSTEM_TIME AS OF is not possible in a stream
    A stream joins the versions of a reference topic as of its event time, by `JOIN` or `LEFT JOIN`: it reads
    the records of that topic. It can't read a table with `versions` so, whose rows come later than their
    times, and rows that change later would have to be joined again. A table over tables can join both: store
    the stream in a table, and join that. See [versions of rows](versions.md). To use the versions that are
    known when a row comes, compare their times in ON.
MS690 FOR SYSTEM_TIME AS OF in a stream without an event time
    A row waits until the watermark of its stream has passed its time: only then are the versions of that time
    known. So the stream needs a watermark: `watermark` of its source, or `WATERMARK … DELAY OF` in FROM.
MS691 FOR SYSTEM_TIME AS OF another column than the event time
    A row waits by the event time of its stream, so it can only be joined with the version of that time.
MS692 FOR SYSTEM_TIME AS OF without a comparison of the key
    A version is valid until the next one of the same key begins. So ON must compare each column of the
    reference topic's key with a column of the stream, by `=` and with the same type. Further conditions are
    possible: a version that does not meet them is as good as none.
MS693 The end of a version in a stream
    A version ends when the next one begins, which may be after the row has left the join. So `valid_to` can't
    be read there. `valid_from` can.
MS626 A query looks up a table whose new rows it would not see
    A query that joins a table sees the rows of each batch's time in Delta, in databases and in reference
    topics, but a table in Iceberg only as it was when the query started. Give the table another `store`.
MS631 A table's store only appends rows
    The files of a table in Parquet are never written again, so its rows can't change: it is for tables
    without a `unique_key`, and without `delete_by`. Give the table another `store`.
MS632 A partition can't be computed like this
    Tables in Iceberg can have partitions that are computed of a column: `year(at)`, `month(at)`, `day(at)`
    and `hour(at)` of a time, `bucket(16, id)` and `truncate(4, id)` of a text or a whole number. Tables in
    other stores have partitions of the columns that a model selects.
MS558 A table can't delete rows by these columns
    `delete_by` names the columns by which rows of an append-only table are deleted, such as `customer_id`:
    their values must be comparable, and `delete_when` must say which rows request a deletion.
MS519 An option names a column that the model does not have
    `key`, `unique_key`, `order_by`, `delete_by`, the keys of `dedupe` and the column of `watermark` must be
    columns of the model's own SELECT.
""")
