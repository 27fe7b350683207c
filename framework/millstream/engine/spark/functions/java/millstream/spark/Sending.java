package millstream.spark;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.spark.sql.kafka010.producer.CachedKafkaProducer;
import org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool$;

/** Sends records by a producer, until Kafka refuses one. */
final class Sending {
  private final KafkaProducer<byte[], byte[]> producer;
  private final Callback answered = (metadata, error) -> {
    if (error != null) {
      refuse(error);
    }
  };
  private final AtomicReference<Exception> refused = new AtomicReference<>();
  /** Kafka has said what is wrong with a record, not just that another one of its batch is. */
  private final CountDownLatch explained = new CountDownLatch(1);

  Sending(KafkaProducer<byte[], byte[]> producer) {
    this.producer = producer;
  }

  /** Lets something send records by a producer that all tasks of this process share, and waits until Kafka has them. */
  static void shared(Map<String, Object> settings, Consumer<Sending> work) {
    CachedKafkaProducer cached = InternalKafkaProducerPool$.MODULE$.acquire(settings);
    try {
      Sending sending = new Sending(cached.producer());
      work.accept(sending);
      sending.finish();
    } finally {
      InternalKafkaProducerPool$.MODULE$.release(cached);
    }
  }

  /** Sends a record later, and fails if Kafka has refused an earlier one. */
  void send(ProducerRecord<byte[], byte[]> record) {
    producer.send(record, answered);
    check();
  }

  /** Waits until Kafka has all records, and fails if it refused one. */
  void finish() {
    producer.flush();
    check();
  }

  private void check() {
    if (refused.get() != null) {
      throw refusal();
    }
  }

  private void refuse(Exception error) {
    boolean explains = error instanceof ApiException;
    refused.accumulateAndGet(error, (known, next) -> known == null || explains ? next : known);
    if (explains) {
      explained.countDown();
    }
  }

  /** Returns why Kafka refused a record; the other records of its batch, whose errors don't say that, may come first. */
  private RuntimeException refusal() {
    try {
      explained.await(1, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    return refused.get() instanceof RuntimeException known ? known : new KafkaException(refused.get());
  }
}
