package millstream.spark;

import java.util.Map;
import java.util.function.Consumer;
import millstream.kafka.Sending;
import org.apache.spark.sql.kafka010.producer.CachedKafkaProducer;
import org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool$;

/** A producer of Spark's pool, which all tasks of this process with the same settings share. */
final class SharedProducer implements AutoCloseable {
  private final CachedKafkaProducer producer;

  SharedProducer(Map<String, Object> settings) {
    producer = InternalKafkaProducerPool$.MODULE$.acquire(settings);
  }

  /** Returns what sends by it. */
  Sending sending() {
    return new Sending(producer.producer());
  }

  @Override
  public void close() {
    InternalKafkaProducerPool$.MODULE$.release(producer);
  }

  /** Lets something send records by it, and waits until Kafka has them. */
  static void send(Map<String, Object> settings, Consumer<Sending> work) {
    try (SharedProducer shared = new SharedProducer(settings)) {
      Sending sending = shared.sending();
      work.accept(sending);
      sending.finish();
    }
  }
}
