package millstream.kafka;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The settings of a transaction: those of its producer, the id by which Kafka ends the transactions
 * of earlier producers, and the marker of its batch. A {@code session} is the life of a query: a
 * producer serves one.
 */
public record TransactionSettings(
    HashMap<String, Object> producer,
    String id,
    String session,
    String call,
    String topic,
    String key,
    String value)
    implements Serializable {
  private static final String KAFKA = "kafka.";

  /** The longest that brokers accept by default (transaction.max.timeout.ms). */
  private static final String TIMEOUT = "900000";

  public static TransactionSettings of(scala.collection.immutable.Map<String, String> options) {
    Map<String, String> settings = CollectionConverters.asJava(options);
    HashMap<String, Object> producer = new HashMap<>();
    producer.put("transaction.timeout.ms", TIMEOUT);
    settings.forEach(
        (name, value) -> {
          if (name.startsWith(KAFKA)) {
            producer.put(name.substring(KAFKA.length()), value);
          }
        });
    // Options of a target are for all of its producers; transactions need these.
    producer.remove("retries");
    producer.remove("max.in.flight.requests.per.connection");
    producer.put("acks", "all");
    producer.put("enable.idempotence", "true");
    producer.put("transactional.id", settings.get("transaction"));
    return new TransactionSettings(
        producer,
        settings.get("transaction"),
        settings.get("session"),
        settings.get("call"),
        settings.get("marker.topic"),
        settings.get("marker.key"),
        settings.get("marker.value"));
  }

  ProducerRecord<byte[], byte[]> marker() {
    return new ProducerRecord<>(
        topic, key.getBytes(StandardCharsets.UTF_8), value.getBytes(StandardCharsets.UTF_8));
  }
}
