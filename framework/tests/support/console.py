"""Java's console tools: `kafka-console-consumer` and `kafka-console-producer`, from the jars of the local broker."""

import subprocess

from millstream.local.jars import Jar, fetch_jars
from millstream.local.java import find_java

TOOLS = Jar(
    "org.apache.kafka",
    "kafka-tools",
    "4.1.2",
    "cb7aedcd2e418b86079c4b35257c8e37800eea84723c78c8b90f535bd589888e",
    615926,
)
"""Of the broker's version; it is no part of a broker."""
DESERIALIZER = "org.apache.kafka.common.serialization.{}Deserializer"


def run_tool(main, *arguments, stdin=b""):
    jars = [*fetch_jars(["broker"])["broker"], *fetch_jars(["tools"], catalog={"tools": (TOOLS,)})["tools"]]
    command = [
        find_java().program,
        "-Xmx256m",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        ":".join(map(str, jars)),
        main,
    ]
    done = subprocess.run([*command, *arguments], input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def consumed(bootstrap, topic, number, *, key="String", value="String"):
    """Return keys and values as the console consumer prints them, sorted."""
    printed = ["print.key=true", "key.separator=|", "null.literal=<null>"]
    properties = [part for setting in printed for part in ("--property", setting)]
    output = run_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning"),
        *("--max-messages", str(number), "--timeout-ms", "60000", *properties),
        *("--property", f"key.deserializer={DESERIALIZER.format(key)}"),
        *("--property", f"value.deserializer={DESERIALIZER.format(value)}"),
    )
    return sorted(tuple(line.split("|", 1)) for line in output.decode().splitlines())


def produce(bootstrap, topic, records):
    """Send keys and values, which are texts or None, by the console producer."""
    lines = ["|".join("<null>" if text is None else text for text in record) for record in records]
    properties = ["parse.key=true", "key.separator=|", "null.marker=<null>"]
    run_tool(
        "org.apache.kafka.tools.ConsoleProducer",
        *("--bootstrap-server", bootstrap, "--topic", topic),
        *(part for setting in properties for part in ("--property", setting)),
        stdin="".join(f"{line}\n" for line in lines).encode(),
    )
