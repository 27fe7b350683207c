"""MS80x and following: java and jars, and the broker that they run."""

from millstream.core.codes import read_codes

CODES = read_codes("""
MS801 Java not found
    Running pipelines needs Java 17 or newer. Millstream looks in `JAVA_HOME`, then on the `PATH`. Install it,
    for example from https://adoptium.net; `millstream debug` shows which Java is found.
MS802 Java is too old
    Spark and Kafka need Java 17 or newer. Install it, and point `JAVA_HOME` or the `PATH` to it.
MS803 Java can't be run
    The `java` that was found does not start, or does not print its version. Run `java -version` to see why,
    or install another one.
MS804 Jars can't be downloaded: no connection
    The jars of Spark and Kafka are downloaded once from Maven Central and then cached. Connect to the
    network, set `HTTPS_PROXY` if a proxy is needed, or set `MILLSTREAM_MAVEN_REPOSITORY` to a mirror
    (https://, http:// or file://). `millstream debug --fetch` downloads all jars in advance.
MS805 A jar is not available from the repository
    The repository in `MILLSTREAM_MAVEN_REPOSITORY`, or Maven Central, does not have the jar or refuses to
    serve it. The message shows its coordinates and address.
MS806 A jar has the wrong checksum
    The downloaded file differs from the released one: it was damaged in transit, it is the login page of a
    proxy, or it was tampered with. It was deleted. Download it again, or use another repository.
MS807 Jars can't be cached
    The cache is not writable or its disk is full. Free some space, make the cache writable, or set
    `MILLSTREAM_CACHE_DIR` to another folder.
MS808 The mirror's address is not valid
    `MILLSTREAM_MAVEN_REPOSITORY` takes the address of a Maven repository: `https://…`, `http://…` or
    `file:///…`. Include a login as `https://user:password@host/…`.
MS811 The local broker does not start
    Kafka exited during startup. The last lines of its log are shown; the whole log is in
    `.millstream/broker/logs/broker.log`. If you need nothing of what the project has on this machine,
    `millstream clean` removes all of it: topics, schemas, and the tables, checkpoints and logs of all
    targets.
MS812 The local broker does not respond
    It runs but does not answer for three minutes, or it can't be reached from here, for example because it
    runs in a container that shares this folder. `millstream broker stop --force` stops it.
MS813 The local broker does not run on this system
    It needs Linux or macOS. On Windows, use WSL, or configure another Kafka with `kafka: {bootstrap_servers:
    …}` in profiles.yml.
MS814 The local broker's folder is not writable
    Topics are stored in the project's `.millstream/broker`. Make the folder writable, or free some space.
MS815 The local broker is busy
    Another command is starting, stopping or using it, and takes longer than expected. Wait for that command,
    or stop it.
MS816 The local schema registry needs a newer Java
    It needs Java 21 or newer, while pipelines also run with Java 17. Install a newer one next to it: it is
    found where systems, SDKMAN and IDEs install Java, and `JAVA_HOME` can stay as it is. Pinned schemas work
    without the registry.
MS817 The local schema registry does not start
    It exited during startup. The last lines of its log are shown; the whole log is in
    `.millstream/broker/registry/logs/registry.log`.
MS818 The local schema registry does not respond
    It runs but does not answer for three minutes. `millstream broker stop --force` stops it.
MS820 Java can't use the project's folder
    The path has a line break or bytes that are not UTF-8, which Java and its start scripts can't open. Rename
    the folder. `compile` and `docs` work in it.
""")
