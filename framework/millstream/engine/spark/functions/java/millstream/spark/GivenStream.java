package millstream.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** Spark's stream of given micro-batches; its offset is the number of batches that were read. */
final class GivenStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final List<List<UnsafeRow>> batches;

  GivenStream(List<List<UnsafeRow>> batches) {
    this.batches = batches;
  }

  private static final class Count extends Offset {
    private final int value;

    Count(int value) {
      this.value = value;
    }

    @Override
    public String json() {
      return Integer.toString(value);
    }
  }

  /** The rows of a batch, which one task reads. */
  private record Batch(UnsafeRow[] rows) implements InputPartition {}

  private static final class Reader implements PartitionReader<InternalRow> {
    private final UnsafeRow[] rows;
    private int next;

    Reader(UnsafeRow[] rows) {
      this.rows = rows;
    }

    @Override
    public boolean next() {
      next++;
      return next <= rows.length;
    }

    @Override
    public InternalRow get() {
      return rows[next - 1];
    }

    @Override
    public void close() {
      // Nothing is open.
    }
  }

  private static final class Readers implements PartitionReaderFactory {
    private static final long serialVersionUID = 1;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new Reader(((Batch) partition).rows());
    }
  }

  @Override
  public Offset initialOffset() {
    return new Count(0);
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new Count(Integer.parseInt(json));
  }

  @Override
  public Offset latestOffset() {
    return new Count(batches.size());
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return new Count(Math.min(Integer.parseInt(start.json()) + 1, batches.size()));
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    // No batches come later.
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    List<List<UnsafeRow>> read =
        batches.subList(Integer.parseInt(start.json()), Integer.parseInt(end.json()));
    return read.stream()
        .map(rows -> new Batch(rows.toArray(new UnsafeRow[0])))
        .toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Readers();
  }

  @Override
  public void commit(Offset end) {
    // A restarted query may read them again.
  }

  @Override
  public void stop() {
    // Nothing is open.
  }
}
