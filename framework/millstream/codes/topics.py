"""Codes of topics that a project writes."""

from millstream.codes import Code

CODES = {
    "MS550": Code(
        "A model reads what it writes",
        "A sink writes a topic that, through sources and other models, it reads again: each build would read "
        "the rows of the build before, and the topic would grow without end. The message names the loop. Let "
        "the sink write to another topic: without `topic` it is named after the model.",
    ),
    "MS551": Code(
        "A sink writes the topic of a source",
        "A topic belongs to the one that writes it: a source's topic is filled from elsewhere, a sink's by its "
        "model alone. If the topic is the model's, read it with `{{ ref('model') }}` and remove it from the "
        "sources: only then are the queries started in order, are types, keys and updates known, and does "
        "lineage go on. Otherwise give the sink a topic of its own.",
    ),
    "MS552": Code(
        "Several sinks write one topic",
        "Records of two models in one topic can't be told apart by those who read it, and a rebuild of one "
        "sends its records again among those of the other. To have one topic, combine the models with "
        "`union all` in a model that is the only sink.",
    ),
    "MS553": Code(
        "A sink writes a topic of dead letters",
        "`<topic>.dead_letter` holds what a source can't decode, or what a data test keeps out of a model. A "
        "sink that writes there would mix its rows with them.",
    ),
    "MS554": Code(
        "The topic's name is reserved",
        "Names that begin with `__` are those of Kafka's internal topics, such as `__consumer_offsets`. Names "
        "that begin with `_millstream.` are topics that Millstream creates between its own queries: neither a "
        "sink nor a source can use them.",
    ),
    "MS555": Code(
        "Kafka refuses the topic's name",
        "A topic's name has at most 249 characters: letters, digits, `.`, `_` and `-`. That includes the ending "
        "`.dead_letter` of a topic for dead letters.",
    ),
    "MS556": Code(
        "Two topics differ only in `.` and `_`",
        "Kafka names its metrics after topics with `_` in place of `.`, so that `shop.events` and "
        "`shop_events` collide: the broker refuses to create the second one.",
    ),
}
