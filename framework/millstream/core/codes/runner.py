"""MS86x and following: queries that run."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS687 A demo needs the local target
    `millstream demo` sends test traffic to the topics of sources, so it only works with the broker on this
    machine. Choose a target with `kafka: embedded` with `--target`; on others, use `millstream run`.
MS646 The history of a topic does not fit the topic
    The topic no longer has the record after the last one of its `history`, so records between both are
    missing; or the history has records that the topic never had. This is checked when a query reads both for
    the first time, before it reads anything. If nothing is missing that the history needs, `offsets` says so.
    Or `--full-refresh` would remove a table of the project that is the history of a topic. See
    [Old records of a topic](sources.md#old-records-of-a-topic).
MS645 A table of a source can't be read further
    Another program writes the table, and a query can't go on with what that did: it deleted or changed rows,
    recreated the table, removed what the query had not read yet, or changed the type of a column. With
    `skip_changes: true`, versions that delete or change rows are left out. `millstream build --full-refresh`
    removes the rows and state of the models, and starts over with the rows that the table has now. See
    [Delta tables](sources.md#delta-tables) and [Iceberg tables](sources.md#iceberg-tables).
MS640 A range of a model can't be computed again
    `build --from … --to …` replaces the rows of append-only tables whose time is in a range, by those that
    the SQL gives now. That needs rows that only come, which are the same whether records are read in one
    batch or in many: those of a source, filtered, computed or joined (inner joins), or windows that have
    closed. Rows with a `unique_key`, sessions, outer joins of streams, Python functions with state, and rows
    of a dedupe that have other times than the ones they repeat, depend on rows outside of the range. Compute
    all rows of such a model again, with `--rebuild`: see [Compute a range
    again](lake.md#compute-a-range-again).
MS641 A table has no time by which a range is chosen
    A range of a table is chosen by `order_by`, the start of its windows, the column with the `watermark` of
    its source, or a date or timestamp in `partition_by`. A date only has whole days, in the time zone of the
    target.
MS642 A range would lose rows
    A topic may no longer have all records of a range, or files are gone, and rows that are stored are not
    among those that were computed again. Nothing was replaced. If the edit of the SQL changes or leaves out
    these rows, `--accept-fewer-rows` replaces them. If records are missing, only later ranges can be
    computed.
MS695 A record is larger than Kafka accepts
    By default, a producer sends at most 1 MB in a request, and a topic takes at most 1 MB in a record. Set
    `max.request.size` in `producer` of the sink or in the profile, and `max.message.bytes` of the topic. With
    `on_bad_record: skip` or `dead_letter` of the model or its source, the query goes on without the record.
MS696 A table is gone
    Someone has removed a table, and its query's checkpoint goes on after the rows that it had. A new table
    would only get the rows that follow, so nothing is stored until it is computed from the start.
MS673 A run that shares its target would change what is deployed
    Runs with `--shared` start and continue queries. Another run is working with what is deployed, so this one
    can't rebuild a query, split one, or complete a change that a command began. Stop all runs, deploy the
    change with `millstream apply`, and start them again.
MS616 Topics that a run does not read yet
    A source reads all topics that match a pattern, and more of them exist than when the run began. A run
    alone reads them within seconds. One with `--shared` changes nothing that others work with: start it
    again.
MS674 A command lost the lock of its target
    Where checkpoints are on another file system, a command writes there every 5 seconds that it is alive. It
    could not for 20 seconds: the file system did not answer, or the machine was suspended. It ended, since
    others may use the target or its queries. Nothing is lost: start it again, or let your platform do that.
MS675 States need more memory than there is
    `explain` estimates the memory of states in RocksDB: the cache of each store, 8.4 MB by default, and about
    2 bytes for each row, with numbers of rows that YAML declares or that earlier builds measured. The warning
    is at the model with the largest state. If the limit of `state: {memory}` is smaller than the part that
    grows with the rows, queries stay right but read the same blocks from disk again and again. See [Memory of
    states](running.md#memory-of-states).
MS860 A query failed
    Spark stopped the query for a reason that Millstream does not recognize. The message is Spark's own; see
    the log for all of it. What the query had finished is kept: build again to continue.
MS861 A Python function failed
    A function of `macros/` raised an exception, or returned what its hint does not allow. The message names
    the function, the model, the record, and the line that raised. Fix the function, or set `on_bad_record` of
    the model or its source to `skip` or `dead_letter`. Within and above a window, an aggregate or a join, and
    in tables, the record is no longer known: a failing function always stops the query, and the message names
    the group, or what the row was joined by. If the function writes the rows of a model, the batch is handed
    over again when the query starts again; `on_failure='dead_letter'` sends its rows to dead letters instead.
MS862 A record can't be decoded
    The topic or file holds a record that does not match the source's declaration, and `on_bad_record` is
    `fail`. The message says where the record is. Fix the producer of such records, or the file; or set `skip`
    or, for topics, `dead_letter`.
MS863 A row fails a data test
    A data test with `severity: error`, the default, stops its model before the row is stored; other models
    continue. The message shows up to three rows (the key, and the columns that the test reads), and the
    record, or the records of the batch if the row comes from several. Fix the cause of such rows, or change
    the test. To go on without these rows, set its severity to `drop` or `dead_letter`, and back after the
    next build. A table over tables has the row again then, unless its inputs have changed. `warn` and
    `--no-tests` store such rows.
MS864 Records that a query has not read yet are gone
    The topic was deleted and recreated, or its retention deleted records before the query read them; or a
    topic that matched the pattern of a source no longer exists, after its records were counted. How
    many are missing is unknown. `millstream build --full-refresh` removes rows and state, and starts over
    with the records that the topic has now. Changes of a table are kept for a day, or as long as `old_files`
    says.
MS865 A topic no longer exists
    It existed when the build started. `millstream build` creates missing topics of sinks.
MS867 Kafka denies a query access
    The user, password or permissions of the target don't allow the query to read or write its topics.
MS868 A row can't be computed
    A division by zero, an overflow or a cast that fails: Spark runs in ANSI mode, where these are errors, not
    silent NULLs. Use a form that gives NULL, such as `try_cast` or `try_divide`, or filter such rows first.
    A map with the same key twice is such an error, too, unless `spark.sql.mapKeyDedupPolicy: LAST_WIN` is set
    in `spark:` of the target.
MS869 A checkpoint belongs to another project
    Two projects use the same folder for their checkpoints, and have a query of the same name. Continuing
    would mix their state. Give each project its own folder.
MS870 A query can't continue from its checkpoint
    The query's state was computed differently from what the models now say: with another window, key,
    aggregate, source or Spark setting; or it would still emit rows that the new version excludes. Spark
    would accept some such changes and give wrong results. `build --rebuild` computes the state again from
    the start of the topics, alongside the running version, and then swaps the two; the message has the
    whole command. Models that share the query are not rebuilt: they wait, and continue as soon as the
    model leaves the query to be rebuilt, or has its former SQL again. The rows of a table without a key can
    also be those that another query stored, or this one before its model was removed: they would be stored
    twice.
MS871 State would mix what two versions counted
    Something upstream of a query's state changed: a filter, the rows of a seed, the SQL of a table that is
    looked up, a test that drops rows. What was counted before stays in the state, and new records are counted
    by the new version. `apply` and `build --rebuild` count all records again. `--accept mixed:totals`
    continues with mixed counts.
MS872 The topic of a source does not exist
    The topics of sources belong to their producers, so Millstream creates them on the local broker only, and
    never those of a `topic_pattern:`. Check `topic:` of the source and `bootstrap_servers` of the target.
MS873 Spark does not start
    The JVM exited during startup: an unknown setting, too little memory, or a cluster that does not respond.
    See the log that the message names.
MS874 Another command is using this target
    Two builds of one target would share checkpoints and tables. The message names the other command, its
    process and when it started. Wait until it has ended; with `--wait`, the command does so itself. `apply`
    works while `run` runs on the same machine, but only one `apply` at a time.
MS875 The changes of a table can't be read as a stream
    Not every store has a change feed: Delta records each changed row, databases and Iceberg do not. Store the
    table in Delta (`store: delta`), or join it to a stream as a lookup, which reads its newest rows.
MS876 A model is new in a query that has already run
    A model that joins a query is backfilled with the records that the query has already read, and then
    continues with it. Here that is not possible: another version of Spark wrote the query's checkpoint, so
    how far it has read is unknown. The model gets the records from now on. `--full-refresh` removes
    their rows and state, reads the topic from its start for all models of the query, and sends those records
    to their topics again.
MS877 A function with keyed state needs a missing column
    A function `(key, rows, state)` gets columns by the names of the fields of its row's class. Select the
    column in the relation that the function is called on, or remove the field from the class.
MS879 There are fewer cores than partitions
    In real-time mode, a task for each partition runs all the time. Tasks without a core would wait forever,
    and Spark would not report it.
MS880 Stored rows would stay as the old version computed them
    What is computed after a query's state, or without state, changed: a column, a rounding, what rows look
    up, a retention. The query's state is right, and so is each row that is stored from now on. Rows whose
    keys get no new records stay as the old version computed them. `apply` and `build --rebuild` compute all
    rows again. `--accept stored:totals` continues with the old rows.
MS881 The port for metrics can't be used
    `millstream run` serves `/metrics`, `/healthz` and `/readyz` on `--host` and `--port`. Another program, or
    another run, uses the port. Choose another one; `--port 0` turns the endpoints off.
MS850 A notification was not sent
    A webhook or command of `notifications` failed three times, or took more than 10 seconds each time, or so
    many notifications were waiting that this one was left out. The run continues. This warning is repeated
    only after a notification was sent again. The address of a webhook is a secret, and never shown.
MS889 What functions import changed while the project runs
    A function of `macros/` imports a module or a library, or opens a file, that was edited or updated after
    the run had loaded the project. Python would import the new one for functions of the old version, so the
    query is not started. Restore the file, or restart the run after `millstream apply`.
MS857 The SQL of a table over tables gives several rows with one key
    `unique_key` has to identify each row that the SQL gives, since the table can only hold one row for a key.
    The message names such a key. Group by it, or make more columns part of `unique_key`. If it is NULL, the
    rows may be those of an outer join without a match: write an inner join, or add the key of the other side.
MS890 An apply to a running project was interrupted
    The command that had asked for it was ended, or the run stopped. The running version continues, or the
    next `run` completes a swap that has begun. Repeat the command: it continues.
MS898 A running project can't take over a change
    The run would have to restart: settings of the target have changed, modules that functions import were
    edited, a library was updated, Spark needs other jars, or it runs only some of the models. So it must if a
    rebuilt query reads the topic of another rebuilt one. Stop the run, run `millstream apply`, and start the
    run again. The message says if something else helps, such as repeating the command.
MS883 Spark's JVM died
    The Spark process was killed or crashed, most often because the machine or the container ran out of
    memory. Checkpoints, topics and tables are intact; unfinished batches run again. Give it more memory
    (`spark: {spark.driver.memory: 4g}` in profiles.yml), or process less at a time.
MS884 A disk is full
    Spark had no room to write a checkpoint, state, a table, or its own files (`spark: {spark.local.dir: …}`).
    A batch that was not fully written runs again, so nothing is lost. `run` tries again until there is room.
MS800 Too many open files
    Each state store of RocksDB keeps some files open, and each topic that a query reads some connections.
    Linux limits how many a process may have open. Let it have more (`ulimit -n 100000`; `LimitNOFILE` of a
    service, `ulimits` of a container). Unfinished batches run again, so nothing is lost.
MS885 Kafka does not accept records
    A topic was deleted while a query wrote to it, or its brokers did not respond within the producer's
    timeout (`delivery.timeout.ms`, two minutes by default). `run` recreates a missing topic of a sink, and
    sends the records that were not sent.
MS849 A record without a key in a compacted topic
    A compacted topic, which a sink of rows that change has by default, holds the newest record of each key,
    and Kafka refuses records without one. The key of a row is NULL: leave out such rows, as in
    `where user_id is not null`, or give them a key with `coalesce`. Where a topic follows a table, do so in
    the table: in the topic, a row that `where` leaves out becomes a delete with its key, and with `coalesce`,
    the key of the table is lost (MS511).
MS858 Kafka refuses the time of a record
    A sink sends each record with the time of the record that it comes from, or with that of `timestamp`, and
    Kafka refuses times that are more than an hour ahead, or what `message.timestamp.after.max.ms` and
    `…before.max.ms` of the topic allow. Topics that Millstream creates for sinks have no limit ahead. For
    another topic, raise the limit with `kafka-configs.sh`, which the query then needs no restart for, or
    leave out such rows in the model.
MS859 A file no longer exists
    Something else than Millstream removed a file that the newest version of a Delta table consists of, or
    that a batch of a source was to read.
    Restore it. If it is lost, `millstream build --full-refresh` with the model removes its rows and state,
    and starts over.
MS810 A transaction was ended by Kafka
    The transaction of a batch took longer than its timeout (`transaction.timeout.ms` of `producer`, 15
    minutes by default), or another process sends the records of the same query. No reader of committed
    records sees any of the batch; it runs again.
MS819 Kafka refuses the timeout of transactions
    `transaction.timeout.ms` of `producer` (15 minutes by default) is more than the brokers allow
    (`transaction.max.timeout.ms`). Lower it: it must only be longer than a batch takes.
MS882 A rebuild would count rows twice
    The rebuilt model sends its rows to a topic again, and a model with state reads that topic. Rebuild both:
    then it reads only the new rows. `--rebuild model+` names a model and everything downstream.
MS886 The rebuilt table differs outside the edited columns
    `apply` compares a rebuilt table with the running one, after the same records, in the columns that the
    edit does not touch. They should be equal. They differ if the topic has lost old records since, if rows
    that came too late for a window before are counted now, if values depend on the clock, or if an earlier
    edit was accepted with `--accept`, so that the running table has rows of two versions. Nothing was
    swapped, and no record was sent. `--accept-differences` accepts the new rows.
MS887 Nothing to roll back
    `apply --rollback` restores what the last `apply` replaced. There was no apply on this target, or it was
    already rolled back.
MS888 A rollback would not fit what was sent since
    The last `apply` sent rows to a topic again. If the older version of a model with state reads that topic,
    it would count them once more from its old offsets. If the older version of a sink with `emit='changes'`
    wrote the topic, the rows before its changes would not be those that readers have. Check out the older
    version and `apply` it. The older version must not send rows again either: if several queries have
    replaced it, and one of them has read another kind of source further than another, repeat the command.
MS899 A model without state
    `state get` and `state export` read what a stateful query remembers: of an aggregate, a dedupe, a join of
    streams or a keyed function. The model has none of these, or was not built on this target yet.
""")
