"""MS82x and following: topics, records and the settings of Kafka clients."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS821 Unknown option of a Kafka client
    `producer`, `consumer` and `admin` of a target, `producer` of a model and `options` of a source take the
    options of Kafka 3.9's Java clients, under their own names. A source also takes some options of Spark's
    reader. Spark and Kafka ignore unknown names, so Millstream checks them. Millstream sets some options
    itself; the message says why, or where to set them instead.
MS822 Kafka can't be reached
    No broker responds at the addresses of `bootstrap_servers`: the address or port is wrong, the cluster is
    down, a firewall blocks the connection, or `security_protocol` does not match the port.
MS823 Kafka refuses the login
    The cluster responds but rejects the credentials, or its certificate is not trusted. Check
    `security_protocol`, `sasl_mechanism`, `sasl_username`, `sasl_password` and `ssl_…` of the target.
MS824 Kafka denies permission
    The login works, but the cluster does not allow this operation. Ask its administrator for the permission
    (an ACL) that the message names.
MS825 A topic can't be created
    Kafka rejects a topic as the project configures it: more replicas than brokers, an unknown topic setting,
    or an invalid value or name.
MS826 A topic differs from the project
    A topic exists with other partitions, replicas or settings than the project configures. Millstream never
    changes an existing topic. Run the command in the message, or change the project to match the topic.
MS827 No such topic
    The topic is neither in the project nor in the Kafka of the target.
MS828 Kafka settings don't fit together
    The target's `kafka:` lacks a setting, or has one that Millstream's own clients can't use. They are built
    on librdkafka, which reads PEM files, not Java key stores.
MS829 Kafka failed
    Kafka returned an error of its own. See the broker's log for details.
MS809 Another transaction has not ended
    A query with `guarantee: exactly_once` that starts after a crash reads which batches were sent, and waits
    for the transactions of other queries meanwhile. Kafka ends one whose process died after its timeout
    (`transaction.timeout.ms`); `run` tries again until then.
MS831 The file of a generator fails
    A file of `seeds/` raises an exception when it is imported.
MS832 A generator fails
    The function raised an exception, or yielded something other than a key and a value.
MS833 A record does not fit its topic
    A value or key of a generator, or of `produce --value`, can't be written in the format of the source: it
    has a field that is not a column, or a type that the format does not support.
MS834 No generator for this topic
    `millstream produce` makes records with the functions of `seeds/*.py`; none has this name. With
    `--value`, it sends a record to one source.
MS835 A record was not accepted
    Kafka refused a record, or did not respond in time, after all retries.
MS836 Not a topic
    `millstream consume` reads topics: sources, sinks, and any other topic by its name in Kafka. Use
    `millstream show` for the rows of views and tables.
MS837 Only the local broker is seeded
    `millstream seed` fills empty topics of the broker that Millstream itself runs. To send test traffic to
    another cluster, run `millstream produce`.
""")
