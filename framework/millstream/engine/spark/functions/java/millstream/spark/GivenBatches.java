package millstream.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/** A table whose rows are read as a stream, in exactly the micro-batches that are numbered. */
public final class GivenBatches implements SupportsRead, Scan {
  private final StructType schema;
  private final List<List<UnsafeRow>> batches;

  private GivenBatches(StructType schema, List<List<UnsafeRow>> batches) {
    this.schema = schema;
    this.batches = batches;
  }

  /**
   * Returns rows as a stream of so many micro-batches, some of which may be empty. The last column
   * of a row is the number of its batch.
   */
  public static Dataset<Row> stream(org.apache.spark.sql.Dataset<Row> rows, int count) {
    Dataset<Row> numbered = (Dataset<Row>) rows;
    int number = numbered.schema().size() - 1;
    List<List<UnsafeRow>> batches = new ArrayList<>();
    for (int batch = 0; batch < count; batch++) {
      batches.add(new ArrayList<>());
    }
    for (InternalRow row : numbered.queryExecution().executedPlan().executeCollect()) {
      batches.get(row.getInt(number)).add((UnsafeRow) row);
    }
    GivenBatches table = new GivenBatches(numbered.schema(), batches);
    scala.collection.immutable.Seq<AttributeReference> columns =
        DataTypeUtils.toAttributes(numbered.schema());
    return Dataset.ofRows(
        numbered.sparkSession(),
        new StreamingRelationV2(
            Option.empty(),
            table.name(),
            table,
            CaseInsensitiveStringMap.empty(),
            columns,
            Option.empty(),
            Option.empty(),
            Option.empty(),
            StreamingRelationV2.apply$default$9()));
  }

  @Override
  public String name() {
    return "given batches";
  }

  @Override
  @SuppressWarnings("deprecation") // columns() calls it
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.MICRO_BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () -> this;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    return name();
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    return new GivenStream(batches);
  }
}
