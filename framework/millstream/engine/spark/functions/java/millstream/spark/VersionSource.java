package millstream.spark;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Spark's source of the versions of a table: each new one begins a batch, which has no rows.
 *
 * <p>What a batch reads of the table is up to its query.
 */
public final class VersionSource implements TableProvider {
  /** Knows a table in the driver. */
  public interface Watched {
    /** Returns the newest version of the table, as JSON. */
    String newest();
  }

  private static final String OPTION = "millstream.table";
  private static final StructType SCHEMA = new StructType().add("version", DataTypes.StringType);
  private static final Map<String, Watched> TABLES = new ConcurrentHashMap<>();

  /** Lets streams of a table, which the option `millstream.table` names, ask for its versions. */
  public static void watch(String name, Watched table) {
    // Spark also asks for hash codes and texts, which objects of Python don't have.
    TABLES.put(name, () -> table.newest());
  }

  /** Forgets what an earlier command has left in this JVM. */
  static void forget() {
    TABLES.clear();
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> options) {
    String name = options.get(OPTION);
    return new Versions(name, TABLES.get(name));
  }

  private record Versions(String name, Watched table) implements SupportsRead, Scan {
    @Override
    @SuppressWarnings("deprecation") // columns() calls it
    public StructType schema() {
      return SCHEMA;
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
      return SCHEMA;
    }

    @Override
    public String description() {
      return "versions of " + name;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new VersionStream(name, table);
    }
  }
}
