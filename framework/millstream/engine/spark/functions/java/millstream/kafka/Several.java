package millstream.kafka;

import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Sends records several at a time: the JVM compiles a loop that only sends much better than one
 * that also makes them.
 */
public final class Several implements Consumer<ProducerRecord<byte[], byte[]>> {
  private static final int MOST = 64;
  private static final int LARGE = 1 << 20;
  private final Sending sending;

  @SuppressWarnings({"unchecked", "rawtypes"})
  private final ProducerRecord<byte[], byte[]>[] records = new ProducerRecord[MOST];

  private int count;
  private int bytes;

  public Several(Sending sending) {
    this.sending = sending;
  }

  /** Adds a record, which may be sent later. */
  @Override
  public void accept(ProducerRecord<byte[], byte[]> record) {
    records[count++] = record;
    bytes += record.value() == null ? 0 : record.value().length;
    if (count == MOST || bytes > LARGE) {
      send();
    }
  }

  public void send() {
    for (int i = 0; i < count; i++) {
      ProducerRecord<byte[], byte[]> record = records[i];
      records[i] = null;
      sending.send(record);
    }
    count = 0;
    bytes = 0;
  }
}
