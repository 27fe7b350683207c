"""Codes of topics that a project writes."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS550 A model reads what it writes
    A sink writes a topic that it also reads, through sources and other models. Each build would read the rows
    of the previous build, and the topic would grow without end. The message shows the loop. Let the sink
    write to another topic: without `topic`, it is named after the model.
MS551 A sink writes the topic of a source
    A topic has one owner: other systems write the topic of a source, and only its model writes the topic of a
    sink. If the topic belongs to the model, read it with `{{ ref('model') }}` and remove it from the sources.
    Only then do queries start in order, are types, keys and updates known, and does lineage continue.
    Otherwise give the sink its own topic.
MS552 Several sinks write one topic
    Readers can't distinguish the records of two models in one topic, and a rebuild of one sends its records
    again among those of the other. To write one topic, combine the models with `union all` in a model that is
    the only sink.
MS553 A sink writes a dead-letter topic
    `<topic>.dead_letter` holds records that a source can't decode, and rows that a data test keeps out of a
    model; `<topic>.dead_letter.handled` records which of them were replayed or dropped. A sink that writes
    there would mix its rows with them.
MS554 The topic's name is reserved
    Names that start with `__` are reserved for Kafka's internal topics, such as `__consumer_offsets`. Names
    that start with `_millstream.` are topics that Millstream creates between its own queries. Neither a sink
    nor a source can use them. A sink can't use names of isolated environments of its own project, either:
    `env-<project>-<environment>--…`.
MS555 Kafka rejects the topic's name
    A topic's name has at most 249 characters: letters, digits, `.`, `_` and `-`. That includes the suffix
    `.dead_letter` of a dead-letter topic.
MS556 Two topics differ only in `.` and `_`
    Kafka names its metrics after topics with `_` in place of `.`, so `shop.events` and `shop_events` collide:
    the broker refuses to create the second one.
MS557 The headers of a sink are wrong
    Headers that start with `millstream.` are written by Millstream itself: the position or batch of a record,
    and the origin of a dead letter. A header of a model can't have such a name. `headers: keep` passes on the
    headers of the record that a row comes from, so it needs rows that come from one record each: not those of
    groups, joins of streams, Python functions with state, and tables.
MS688 The row before a change is unknown
    With `emit='changes'`, each record of a sink has the row before and after a change. Both are computed from
    the row of the table that the sink selects from. So it selects from one table, looks up nothing but seeds,
    and its SQL gives the same values each time, without Python functions. A data test can't keep rows out of
    it. Events have no row before; the rows of an aggregate have one if they are stored as a table.
MS689 An option does not fit `emit: changes`
    `emit='changes'` is for sinks. Their records are JSON as Debezium writes it, in which the rows before and
    after a change are embedded: other formats, and schemas of rows, do not fit.
MS680 A reference table needs no `deduplicate`
    A reference table has the newest row of each key: a record that is sent again replaces a row by an equal
    one. `deduplicate: position` is for topics of events, those without `table: true`.
""")
