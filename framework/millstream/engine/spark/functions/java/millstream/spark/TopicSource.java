package millstream.spark;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Spark's source of a topic, with a stream that does more than Spark's. */
abstract class TopicSource implements TableProvider {
  private final KafkaSourceProvider kafka = new KafkaSourceProvider();

  /** Returns what makes the streams of queries, when the source is looked up by its options. */
  abstract Streams streams(Map<String, String> options);

  interface Streams {
    /** Returns the stream of a query; `checkpoint` is the source's folder in that of the query. */
    MicroBatchStream of(MicroBatchStream kafka, String checkpoint);
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return kafka.inferSchema(options);
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
    return new Topic(
        (SupportsRead) kafka.getTable(schema, partitioning, options), streams(options));
  }

  private record Topic(SupportsRead kafka, Streams streams) implements SupportsRead {
    @Override
    public String name() {
      return kafka.name();
    }

    @Override
    public Column[] columns() {
      return kafka.columns();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new Read(kafka.newScanBuilder(options).build(), streams);
    }
  }

  private record Read(Scan kafka, Streams streams) implements Scan {
    @Override
    public StructType readSchema() {
      return kafka.readSchema();
    }

    @Override
    public String description() {
      return kafka.description();
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return streams.of(kafka.toMicroBatchStream(checkpoint), checkpoint);
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
      return kafka.supportedCustomMetrics();
    }
  }
}
