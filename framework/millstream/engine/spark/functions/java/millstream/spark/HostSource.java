package millstream.spark;

import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;

/** Spark's source of a topic, whose tasks also do the work of the host's guest. */
public final class HostSource extends TopicSource {
  @Override
  MicroBatchStream stream(MicroBatchStream kafka, Map<String, String> options, String checkpoint) {
    return new HostStream(kafka, Host.slot(options.get(Host.OPTION)));
  }
}
