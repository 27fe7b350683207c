package millstream.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Sets the offsets of consumer groups that no consumer belongs to. */
public final class GroupOffsets {
  private final Admin admin;

  public GroupOffsets(Map<String, String> settings) {
    admin = Admin.create(new HashMap<String, Object>(settings));
  }

  /**
   * Sets the offsets of a group: a line for each partition, with its number, the offset and the
   * topic. Returns why that failed, or an empty text.
   */
  public String set(String group, String lines, int milliseconds) throws InterruptedException {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    lines
        .lines()
        .map(line -> line.split(" ", 3))
        .forEach(
            parts ->
                offsets.put(
                    new TopicPartition(parts[2], Integer.parseInt(parts[0])),
                    new OffsetAndMetadata(Long.parseLong(parts[1]))));
    try {
      AlterConsumerGroupOffsetsOptions limit =
          new AlterConsumerGroupOffsetsOptions().timeoutMs(milliseconds);
      admin.alterConsumerGroupOffsets(group, offsets, limit).all().get();
      return "";
    } catch (ExecutionException error) {
      return error.getCause().toString();
    }
  }
}
