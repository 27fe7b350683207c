"""MS82x and following: topics, records and the settings of Kafka clients."""

from millstream.codes import Code

CODES: dict[str, Code] = {
    "MS821": Code(
        "No such option of a Kafka client",
        "`producer`, `consumer` and `admin` of a target, `producer` of a model and `options` of a source take the "
        "options of Kafka 3.9's Java clients, under their own names; a source's also some of Spark's reader. "
        "Spark and Kafka ignore names that they don't know, so Millstream checks them. "
        "Some options are Millstream's to decide; the message says why, or where to say it instead.",
    ),
    "MS822": Code(
        "Kafka can't be reached",
        "No broker answers at the addresses of `bootstrap_servers`: the address or port is wrong, the cluster is "
        "down, a firewall is between, or `security_protocol` is not what the port speaks.",
    ),
    "MS823": Code(
        "Kafka does not let us in",
        "The cluster answers, but refuses who we say we are, or its certificate is not one that we trust. "
        "See `security_protocol`, `sasl_mechanism`, `sasl_username`, `sasl_password` and `ssl_…` of the target.",
    ),
    "MS824": Code(
        "Kafka does not permit it",
        "The cluster knows us but does not allow this. Ask who runs it for the permission (an ACL) that the "
        "message names.",
    ),
    "MS825": Code(
        "Topic can't be created",
        "Kafka refuses a topic as the project wants it: more replicas than brokers, a setting that topics don't "
        "have, a value or name that is not possible.",
    ),
    "MS826": Code(
        "Topic differs from the project",
        "A topic exists with other partitions, replicas or settings than the project says. "
        "Millstream never changes an existing topic: run the command that the message shows, or say in the "
        "project what the topic has.",
    ),
    "MS827": Code(
        "No such topic",
        "The topic is neither in the project nor in the Kafka of the target.",
    ),
    "MS828": Code(
        "Settings of Kafka don't fit together",
        "The target's `kafka:` lacks something, or has what Millstream's own clients can't use. They are built on "
        "librdkafka, which reads PEM files, not Java's key stores.",
    ),
    "MS829": Code(
        "Kafka failed",
        "Kafka answered with an error of its own. Its log tells more.",
    ),
    "MS831": Code(
        "A generator's file fails",
        "A file of `seeds/` raises an exception when it is imported.",
    ),
    "MS832": Code(
        "A generator fails",
        "The function raised an exception, or yielded something else than a key and a value.",
    ),
    "MS833": Code(
        "A generator's record does not fit its topic",
        "The value or key can't be written in the format of the source: a field that is no column, a type that the "
        "format does not know.",
    ),
    "MS834": Code(
        "No generator for this topic",
        "`millstream produce` makes records with the functions of `seeds/*.py`; none has this name.",
    ),
    "MS835": Code(
        "A record was not taken",
        "Kafka refused a record, or did not answer in time, after all retries.",
    ),
    "MS836": Code(
        "Not a topic",
        "`millstream consume` reads topics: sources, sinks and others by their names in Kafka. "
        "The rows of views and tables are shown by `millstream show`.",
    ),
    "MS837": Code(
        "Only the local broker is seeded",
        "`millstream seed` fills empty topics of the broker that Millstream itself runs. The topics of other "
        "clusters get traffic by `millstream produce`, when somebody says so.",
    ),
}
