package millstream.spark;

import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Sends records several at a time: the JVM compiles a loop that only sends much better than one that also makes them. */
final class Several implements Consumer<ProducerRecord<byte[], byte[]>> {
  private static final int MOST = 64;
  private static final int LARGE = 1 << 20;
  private final Sending sending;
  @SuppressWarnings("unchecked")
  private final ProducerRecord<byte[], byte[]>[] records = new ProducerRecord[MOST];
  private int count;
  private int bytes;

  Several(Sending sending) {
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

  void send() {
    for (int each = 0; each < count; each++) {
      ProducerRecord<byte[], byte[]> record = records[each];
      records[each] = null;
      sending.send(record);
    }
    count = 0;
    bytes = 0;
  }
}
