"""MS86x and following: queries that run."""

from millstream.codes import Code

CODES: dict[str, Code] = {
    "MS860": Code(
        "A query failed",
        "Spark stopped the query for a reason that Millstream knows no better words for. The message is Spark's "
        "own; the log that is named has all of it. What the query had finished is kept: build again to go on.",
    ),
    "MS861": Code(
        "A Python function failed",
        "A function of `macros/` raised an exception. The message says which one, for which model, on which "
        "record, and the line that raised. Mend the function, or say with `on_bad_record: skip` or `dead_letter`, "
        "of the model or its source, what becomes of such rows. Within and above a window, an aggregate or a join, "
        "and in tables, the record is not known any more: a failing function always stops the query, and the message "
        "says which group it was, or what the row was joined by.",
    ),
    "MS862": Code(
        "A record can't be decoded",
        "The topic holds a record that is not what the source declares, and `on_bad_record` is `fail`. The message "
        "says where it is. Mend what sends such records, or choose `skip` or `dead_letter`.",
    ),
    "MS863": Code(
        "A row is not what a data test demands",
        "A data test with `severity: error`, the default, stops its model before the wrong row is stored; other models "
        "go on. Mend what makes such rows, or say what becomes of them: `severity: drop`, `dead_letter` or `warn`. "
        "`--no-tests` stores them.",
    ),
    "MS864": Code(
        "Records that a query was to read next are gone",
        "The topic was deleted and made anew, or its retention deleted records before the query read them. What "
        "is missing can't be counted any more. `millstream build --full-refresh` begins anew with what is there.",
    ),
    "MS865": Code(
        "A topic is not there any more",
        "It was there when the build began. `millstream build` creates topics of sinks that are missing.",
    ),
    "MS867": Code(
        "Kafka refuses a query",
        "User, password or permissions of the target don't let the query read or write its topics.",
    ),
    "MS868": Code(
        "A row can't be calculated",
        "A division by zero, an overflow or a cast that fails: Spark runs in ANSI mode, where these are errors "
        "and never silent NULLs. Use a form that gives NULL, such as `try_cast` or `try_divide`, or filter such "
        "rows before.",
    ),
    "MS869": Code(
        "A checkpoint is of another project",
        "Two projects were given the same folder for their checkpoints, and a query of the same name. "
        "Going on would mix their states. Give each a folder of its own.",
    ),
    "MS870": Code(
        "A query can't go on from its checkpoint",
        "What the query keeps was calculated in another way than the models say now: another window, key, "
        "aggregate or source. Spark would accept some such changes and give wrong numbers. `--full-refresh` "
        "forgets state and tables, and reads the topics from the start.",
    ),
    "MS871": Code(
        "What happens to rows before a state changed",
        "Rows that were counted before stay counted by the old rule; new ones follow the new rule. "
        "`--accept-forward` goes on like this; `--full-refresh` counts all anew.",
    ),
    "MS872": Code(
        "A topic of a source is not there",
        "Topics of sources belong to those who write them, so they are created on the local broker only. "
        "Look at `topic:` of the source and `bootstrap_servers` of the target.",
    ),
    "MS873": Code(
        "Spark does not start",
        "The JVM ended before Spark was there: a setting that it does not know, too little memory, or a cluster "
        "that does not answer. The log that is named says more.",
    ),
    "MS874": Code(
        "Another command works with this target",
        "Two builds of one target would share checkpoints and tables. Wait until the other one has ended.",
    ),
    "MS875": Code(
        "The changes of a table can't be read as a stream",
        "Not every store has a change feed: Delta records each row that changed, PostgreSQL does not. Keep the "
        "table in Delta (`store: delta`), or join it to a stream as a lookup, which sees its newest rows.",
    ),
    "MS876": Code(
        "A model is new in a query that has run before",
        "A new model of a query gets what the query has read before, on its own, and goes on with it from there. "
        "Here it can't be told how far the query has read: it keeps state, or its checkpoint was written by another "
        "version of Spark. The model gets the records from now on. `--full-refresh` reads the topic from its start "
        "for all models of the query; their topics get those records again.",
    ),
    "MS877": Code(
        "A function with keyed state wants a column that is not there",
        "A function `(key, rows, state)` gets the columns of what it is called on by the names of its row's fields. "
        "Select the column there, or take the field out of the row's class.",
    ),
    "MS878": Code(
        "A query can't run in real-time mode",
        "Spark's real-time mode takes queries that decode, filter and project, and write to Kafka. "
        "`millstream explain` says of each query what prevents it.",
    ),
    "MS879": Code(
        "There are fewer cores than partitions",
        "In real-time mode a task for each partition runs all the time. Those that get no core would wait for "
        "ever, and Spark would not say so.",
    ),
    "MS881": Code(
        "Nothing can listen where metrics are to be answered",
        "`millstream run` answers `/metrics`, `/healthz` and `/readyz` on `--host` and `--port`. Another program, or "
        "another run, has the port. Choose another one; `--port 0` answers nothing.",
    ),
    "MS883": Code(
        "Spark's JVM has ended",
        "The process in which Spark runs was killed or crashed: most often because the machine, or the container, had "
        "no memory left. Checkpoints, topics and tables are whole; what did not end well is done again. Give it more "
        "memory (`spark: {spark.driver.memory: 4g}` in profiles.yml), or ask for less at a time.",
    ),
    "MS884": Code(
        "A disk is full",
        "What Spark had to write had no room: a checkpoint, a state, a table, or its own files "
        "(`spark: {spark.local.dir: …}`). A batch that was not written as a whole is done again, so nothing is lost. "
        "`run` tries again until there is room.",
    ),
    "MS885": Code(
        "Kafka does not take records",
        "A topic was deleted while a query wrote to it, or its brokers did not answer for as long as the producer waits "
        "(`delivery.timeout.ms`, two minutes by default). `run` creates a topic of a sink that is gone again, and sends "
        "what was not sent.",
    ),
    "MS882": Code(
        "A rebuild would have rows counted twice",
        "What is rebuilt sends its rows to a topic again, and a model with state reads that topic. Rebuilt together, "
        "it reads the new rows alone: `--rebuild model+` names a model and all that reads it.",
    ),
    "MS886": Code(
        "What was made anew has other rows where the edit changes nothing",
        "`apply` compares a table that it made anew with the one that runs, after the same records, in the columns that "
        "the edit does not touch. They should be equal. They are not where a topic has lost old records by then, where "
        "rows came too late for a window before and are counted now, or where values depend on the clock. Nothing was "
        "swapped, and no record was sent. `--accept-differences` says that the new rows are right.",
    ),
    "MS887": Code(
        "There is nothing to take back",
        "`apply --rollback` puts back what the last `apply` made anew. There was none on this target, or it was taken "
        "back before.",
    ),
    "MS888": Code(
        "Going back would have rows counted twice",
        "The last `apply` sent rows to a topic again, and the older version of a model with state reads that topic: "
        "from where it was, it would count them once more. Check out the older version and `apply` it.",
    ),
}
