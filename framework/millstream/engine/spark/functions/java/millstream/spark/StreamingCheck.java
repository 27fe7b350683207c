package millstream.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.streaming.InternalOutputModes;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** What Spark checks before a streaming query starts, for one that never starts. */
public final class StreamingCheck {
  private StreamingCheck() {}

  /** Returns a stream without rows, which can only be analyzed. */
  public static Dataset<Row> emptyStream(SparkSession session, String columns) {
    StructType schema = StructType.fromDDL(columns);
    List<Attribute> attributes =
        new ArrayList<>(CollectionConverters.asJava(DataTypeUtils.toAttributes(schema)));
    LocalRelation relation =
        new LocalRelation(
            Extensions.seq(attributes), Extensions.seq(List.of()), true, Option.empty());
    return Dataset.ofRows(session, relation);
  }

  /** Raises Spark's reason not to run a query in an output mode: append or update. */
  public static void check(org.apache.spark.sql.Dataset<Row> rows, boolean append) {
    UnsupportedOperationChecker.checkForStreaming(
        ((Dataset<Row>) rows).queryExecution().analyzed(),
        append ? InternalOutputModes.Append$.MODULE$ : InternalOutputModes.Update$.MODULE$);
  }
}
