package millstream.spark;

import java.util.Map;

/** Spark's source of a topic, whose tasks also do the work of the host's guest. */
public final class HostSource extends TopicSource {
  @Override
  Streams streams(Map<String, String> options) {
    // The host is open while the source is looked up, not when a query starts.
    Host.Slot slot = Host.slot(options.get(Host.OPTION));
    return (kafka, checkpoint) -> new HostStream(kafka, slot);
  }
}
