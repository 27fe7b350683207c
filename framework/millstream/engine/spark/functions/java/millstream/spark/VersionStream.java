package millstream.spark;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** Spark's stream of the versions of a table. */
final class VersionStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final String name;
  private final VersionSource.Watched table;

  /** The version at which a run ends that only reads what is there. */
  private Offset last;

  VersionStream(String name, VersionSource.Watched table) {
    this.name = name;
    this.table = table;
  }

  private static final class Version extends Offset {
    private final String json;

    Version(String json) {
      this.json = json;
    }

    @Override
    public String json() {
      return json;
    }
  }

  @Override
  public Offset initialOffset() {
    return new Version("{}");
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new Version(json);
  }

  @Override
  public Offset latestOffset() {
    return new Version(table.newest());
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return last != null ? last : latestOffset();
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    last = latestOffset();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return new InputPartition[0];
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return partition -> {
      throw new UnsupportedOperationException("versions have no rows");
    };
  }

  @Override
  public void commit(Offset end) {
    // Nothing is kept for versions that were read.
  }

  @Override
  public void stop() {
    // Nothing is open.
  }

  @Override
  public String toString() {
    return "versions of " + name;
  }
}
