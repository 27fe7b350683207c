package millstream.spark;

import java.util.List;
import java.util.function.Supplier;
import millstream.rows.Deduplicate;
import millstream.rows.TemporalJoin;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Applies processors with state. The settings of the session decide which classes of Java stand for
 * dates, so all of a processor's encoders are created while its session is the active one.
 */
public final class StatefulRows {
  private StatefulRows() {}

  /** Returns the rows that pass {@link Deduplicate}. */
  public static Dataset<Row> deduplicate(
      Dataset<Row> rows, List<String> keys, long within, String mode) {
    return withActive(rows, () -> Deduplicate.of(rows, keys, within, mode));
  }

  /** Returns the rows of {@link TemporalJoin}. */
  public static Dataset<Row> join(
      Dataset<Row> rows, int keys, long wait, Long keep, String mode, int most) {
    return withActive(rows, () -> TemporalJoin.of(rows, keys, wait, keep, mode, most));
  }

  private static Dataset<Row> withActive(Dataset<Row> rows, Supplier<Dataset<Row>> result) {
    return ((SparkSession) rows.sparkSession()).withActive(result::get);
  }
}
