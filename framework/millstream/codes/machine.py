"""MS80x and following: java and jars, and the broker that they run."""

from millstream.codes import Code

CODES: dict[str, Code] = {
    "MS801": Code(
        "Java is not found",
        "Running pipelines needs Java 17 or newer. It is looked for in `JAVA_HOME`, else on the `PATH`. "
        "Install one, such as https://adoptium.net; `millstream debug` shows which is found.",
    ),
    "MS802": Code(
        "Java is too old",
        "Spark and Kafka need Java 17 or newer. Install one, and let `JAVA_HOME` or the `PATH` name it.",
    ),
    "MS803": Code(
        "Java can't be run",
        "What was found as `java` does not start, or does not tell its version. "
        "Run `java -version` to see why, or install another one.",
    ),
    "MS804": Code(
        "Jars can't be fetched: no connection",
        "What Spark and Kafka need besides Java is fetched once from Maven Central, and then kept. "
        "Connect to the network, set `HTTPS_PROXY` where a proxy is needed, or name a mirror with "
        "`MILLSTREAM_MAVEN_REPOSITORY` (https://, http:// or file://). "
        "`millstream debug --fetch` fetches all ahead.",
    ),
    "MS805": Code(
        "The repository does not give a jar",
        "The repository that `MILLSTREAM_MAVEN_REPOSITORY` names, or Maven Central, does not have the jar "
        "or refuses it. Coordinates and address are in the message.",
    ),
    "MS806": Code(
        "A jar has a wrong checksum",
        "What came is not the file that was released: damaged on the way, a login page of a proxy, "
        "or something worse. It was deleted. Fetch again, or name another repository.",
    ),
    "MS807": Code(
        "Jars can't be kept",
        "The cache is not writable or its disk is full. Make room, make it writable, "
        "or name another folder with `MILLSTREAM_CACHE_DIR`.",
    ),
    "MS808": Code(
        "The mirror's address is not understood",
        "`MILLSTREAM_MAVEN_REPOSITORY` takes the address of a Maven repository: "
        "`https://…`, `http://…` or `file:///…`; a login is written as `https://user:password@host/…`.",
    ),
    "MS811": Code(
        "The local broker does not start",
        "Kafka ended while it started. The last lines of its log are shown; the whole log is in "
        "`.millstream/broker/logs/broker.log`. What is in the topics can be given up with `millstream clean`.",
    ),
    "MS812": Code(
        "The local broker does not answer",
        "It runs, but is not ready after a minute, or it runs where it can't be reached, such as in a "
        "container that shares this folder. `millstream broker stop` stops it.",
    ),
    "MS813": Code(
        "The local broker does not run on this system",
        "It needs Linux or macOS. On Windows, work in WSL, or name a Kafka with "
        "`kafka: {bootstrap_servers: …}` in profiles.yml.",
    ),
    "MS814": Code(
        "The local broker's folder can't be written",
        "Topics are kept in `.millstream/broker` of the project. Make the folder writable, or make room.",
    ),
    "MS815": Code(
        "The local broker is busy",
        "Another command starts or stops it for longer than it should take, or still uses it. "
        "Wait for that command, or end it.",
    ),
}
