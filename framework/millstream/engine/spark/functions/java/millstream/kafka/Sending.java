package millstream.kafka;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;

/** Sends records by a producer, until Kafka refuses one. */
public final class Sending {
  private final KafkaProducer<byte[], byte[]> producer;
  private final Callback answered =
      (metadata, error) -> {
        if (error != null) {
          refuse(error);
        }
      };
  private final AtomicReference<Exception> refused = new AtomicReference<>();

  /** Kafka has said what is wrong with a record, not just that another one of its batch is. */
  private final CountDownLatch explained = new CountDownLatch(1);

  public Sending(KafkaProducer<byte[], byte[]> producer) {
    this.producer = producer;
  }

  /** Sends a record later, and fails if Kafka has refused an earlier one. */
  void send(ProducerRecord<byte[], byte[]> record) {
    producer.send(record, answered);
    check();
  }

  /** Waits until Kafka has all records, and fails if it refused one. */
  public void finish() {
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
    refused.accumulateAndGet(error, (first, next) -> first == null || explains ? next : first);
    if (explains) {
      explained.countDown();
    }
  }

  /**
   * Returns why Kafka refused a record; the other records of its batch, whose errors don't say
   * that, may come first.
   */
  private RuntimeException refusal() {
    try {
      explained.await(1, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    return refused.get() instanceof RuntimeException exception
        ? exception
        : new KafkaException(refused.get());
  }
}
