package millstream.spark;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;

/**
 * Spark's stream of a topic, whose tasks pass each record that they read on to the work of a guest,
 * if there is one.
 */
final class HostStream extends TopicStream {
  private final Host.Slot slot;

  HostStream(MicroBatchStream kafka, Host.Slot slot) {
    super(kafka);
    this.slot = slot;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Factory(super.createReaderFactory(), slot);
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
}
