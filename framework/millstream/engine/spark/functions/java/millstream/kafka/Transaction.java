package millstream.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * An open transaction of Kafka. Its producer is used again by the next transaction of the same
 * session, unless this one fails: a task that still sends then has a producer that is closed.
 */
public final class Transaction {
  /** The transactions whose tasks run in this JVM. */
  public static final Map<String, Transaction> OPEN = new ConcurrentHashMap<>();

  /** Producers between two transactions, by id. */
  private static final Map<String, Idle> IDLE = new ConcurrentHashMap<>();

  private final TransactionSettings settings;
  private final KafkaProducer<byte[], byte[]> producer;
  private final Sending sending;
  private boolean done;

  private record Idle(String session, KafkaProducer<byte[], byte[]> producer) {}

  private Transaction(TransactionSettings settings, KafkaProducer<byte[], byte[]> producer) {
    this.settings = settings;
    this.producer = producer;
    this.sending = new Sending(producer);
  }

  /** Begins a transaction; first, Kafka ends those of earlier sessions with the same id. */
  public static Transaction begin(TransactionSettings settings) {
    Idle idle = IDLE.remove(settings.id());
    if (idle != null && idle.session().equals(settings.session())) {
      return begun(settings, idle.producer());
    }
    if (idle != null) {
      idle.producer().close(Duration.ZERO);
    }
    KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            settings.producer(), new ByteArraySerializer(), new ByteArraySerializer());
    try {
      producer.initTransactions();
    } catch (Throwable error) {
      producer.close(Duration.ZERO);
      throw error;
    }
    return begun(settings, producer);
  }

  private static Transaction begun(
      TransactionSettings settings, KafkaProducer<byte[], byte[]> producer) {
    try {
      producer.beginTransaction();
    } catch (Throwable error) {
      producer.close(Duration.ZERO);
      throw error;
    }
    return new Transaction(settings, producer);
  }

  /** Sends records, and returns how many for each topic. */
  public HashMap<String, Long> send(Iterator<InternalRow> rows, RecordSource records) {
    HashMap<String, Long> counts = new HashMap<>();
    records.forEach(
        rows,
        record -> {
          sending.send(record);
          counts.merge(record.topic(), 1L, Long::sum);
        });
    return counts;
  }

  /** Commits what was sent, with the marker of the batch; a batch without records has none. */
  public void commit(boolean sent) {
    if (sent) {
      producer.send(settings.marker());
      producer.commitTransaction(); // waits for all records, and fails if one was refused
    } else {
      producer.abortTransaction();
    }
    done = true;
    Idle before = IDLE.put(settings.id(), new Idle(settings.session(), producer));
    if (before != null) {
      before.producer().close(Duration.ZERO);
    }
  }

  /**
   * Aborts the transaction unless it is committed, so that readers don't wait for it; the producer
   * is not used again.
   */
  public void abandon() {
    if (done) {
      return;
    }
    done = true;
    boolean interrupted = Thread.interrupted(); // as when a query is stopped within a batch
    try {
      producer.abortTransaction();
    } catch (RuntimeException error) {
      // Kafka no longer accepts it: a newer producer has ended the transaction, or will.
    } finally {
      producer.close(Duration.ZERO);
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Closes the producers of all transactions. */
  public static void forget() {
    OPEN.values().forEach(Transaction::abandon);
    OPEN.clear();
    IDLE.values().forEach(idle -> idle.producer().close(Duration.ZERO));
    IDLE.clear();
  }

  /** Closes the producer of an id, if it is idle. */
  public static void close(String id) {
    Idle idle = IDLE.remove(id);
    if (idle != null) {
      idle.producer().close(Duration.ZERO);
    }
  }
}
