package millstream.spark;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/** A source with given rows, all of which are in the first batch of its query. */
public final class FirstRows implements StreamSourceProvider, DataSourceRegister {
  private static final String OPTION = "millstream.rows";
  private static final Map<String, Rows> ROWS = new ConcurrentHashMap<>();

  /** Returns the option by which a query finds the rows of a topic's history. */
  public static Map<String, String> give(Dataset<Row> rows, String topic) {
    String name = UUID.randomUUID().toString();
    ROWS.put(name, new Rows(name, topic, rows));
    return Map.of(OPTION, name);
  }

  /** Forgets what an earlier command has left in this JVM. */
  static void forget() {
    ROWS.clear();
  }

  @Override
  public String shortName() {
    return "first_rows";
  }

  @Override
  public Tuple2<String, StructType> sourceSchema(
      SQLContext context,
      Option<StructType> schema,
      String provider,
      scala.collection.immutable.Map<String, String> options) {
    return new Tuple2<>(shortName(), of(options).schema());
  }

  @Override
  public Source createSource(
      SQLContext context,
      String folder,
      Option<StructType> schema,
      String provider,
      scala.collection.immutable.Map<String, String> options) {
    return of(options);
  }

  private static Rows of(scala.collection.immutable.Map<String, String> options) {
    return ROWS.get(CollectionConverters.asJava(options).get(OPTION));
  }

  /** Its only offset says that all rows are read. */
  private static final class End extends Offset {
    @Override
    public String json() {
      return "{\"history\":1}";
    }
  }

  private record Rows(String name, String topic, Dataset<Row> rows)
      implements Source, SupportsTriggerAvailableNow {
    @Override
    public StructType schema() {
      return rows.schema();
    }

    @Override
    public Option<Offset> getOffset() {
      return Option.apply(new End());
    }

    @Override
    public org.apache.spark.sql.connector.read.streaming.Offset latestOffset(
        org.apache.spark.sql.connector.read.streaming.Offset start, ReadLimit limit) {
      return new End();
    }

    @Override
    public void prepareForTriggerAvailableNow() {
      // Its end never moves.
    }

    @Override
    public Dataset<Row> getBatch(Option<Offset> start, Offset end) {
      org.apache.spark.sql.classic.Dataset<Row> batch =
          (org.apache.spark.sql.classic.Dataset<Row>) (start.isEmpty() ? rows : rows.limit(0));
      SparkSession session = batch.sparkSession();
      return session.internalCreateDataFrame(batch.queryExecution().toRdd(), batch.schema(), true);
    }

    @Override
    public void stop() {
      ROWS.remove(name);
    }

    @Override
    public String toString() {
      return "History[" + topic + "]";
    }
  }
}
