package millstream.spark;

import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/**
 * Spark's stream of a topic, whose tasks pass each record that they read on to the work of a guest,
 * if there is one.
 */
final class HostStream
    implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final MicroBatchStream kafka;
  private final Host.Slot slot;

  HostStream(MicroBatchStream kafka, Host.Slot slot) {
    this.kafka = kafka;
    this.slot = slot;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Factory(kafka.createReaderFactory(), slot);
  }

  /**
   * Made when a batch is planned, and serialized when its tasks start: its guest comes in between.
   */
  private record Factory(PartitionReaderFactory kafka, Host.Slot slot)
      implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      PartitionReader<InternalRow> reader = kafka.createReader(partition);
      return slot.work == null ? reader : new Reader(reader, slot.work.begin());
    }
  }

  private record Reader(PartitionReader<InternalRow> kafka, Guest.Task guest)
      implements PartitionReader<InternalRow> {
    @Override
    public boolean next() throws IOException {
      if (kafka.next()) {
        guest.add(kafka.get());
        return true;
      }
      guest.end();
      return false;
    }

    @Override
    public InternalRow get() {
      return kafka.get();
    }

    @Override
    public void close() throws IOException {
      guest.close();
      kafka.close();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return kafka.currentMetricsValues();
    }

    @Override
    @SuppressWarnings("deprecation") // Spark still calls it
    public void initMetricsValues(CustomTaskMetric[] metrics) {
      kafka.initMetricsValues(metrics);
    }
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return kafka.planInputPartitions(start, end);
  }

  @Override
  public Offset initialOffset() {
    return kafka.initialOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return kafka.deserializeOffset(json);
  }

  @Override
  public Offset latestOffset() {
    return kafka.latestOffset();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return ((SupportsAdmissionControl) kafka).latestOffset(start, limit);
  }

  @Override
  public Offset reportLatestOffset() {
    return ((SupportsAdmissionControl) kafka).reportLatestOffset();
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return ((SupportsAdmissionControl) kafka).getDefaultReadLimit();
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    ((SupportsTriggerAvailableNow) kafka).prepareForTriggerAvailableNow();
  }

  @Override
  public Map<String, String> metrics(Optional<Offset> read) {
    return ((ReportsSourceMetrics) kafka).metrics(read);
  }

  @Override
  public void commit(Offset end) {
    kafka.commit(end);
  }

  @Override
  public void stop() {
    kafka.stop();
  }

  @Override
  public String toString() {
    return kafka.toString();
  }
}
