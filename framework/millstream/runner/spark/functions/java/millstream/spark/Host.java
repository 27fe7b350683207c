package millstream.spark;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import scala.jdk.javaapi.CollectionConverters;

/** A query with a state whose tasks make the records of another query from what they read: a guest's. */
public final class Host {
  private final Dataset<Row> rows;
  private final String topic;
  private final Passed.Place place;

  private Host(Dataset<Row> rows, String topic, Passed.Place place) {
    this.rows = rows;
    this.topic = topic;
    this.place = place;
  }

  /** Returns the host that reads the records of a topic. */
  public static Host of(org.apache.spark.sql.Dataset<Row> records, String topic) {
    Dataset<Row> given = (Dataset<Row>) records;
    LogicalPlan plan = given.queryExecution().analyzed();
    Passed.Place place = new Passed.Place();
    List<Expression> columns = List.copyOf(CollectionConverters.asJava(plan.output()));
    Expression passed = V2ExpressionUtils.resolveScalarFunction(new Passed(given.schema(), place), Extensions.seq(columns));
    return new Host(Dataset.ofRows(given.sparkSession(), new Filter(passed, plan)), topic, place);
  }

  /** Returns where columns are among those of a topic; null if one is none of them. */
  static int[] places(List<Attribute> columns) {
    int[] found = columns.stream().mapToInt(each -> Passed.COLUMNS.indexOf(each.name())).toArray();
    return Arrays.stream(found).anyMatch(each -> each < 0) ? null : found;
  }

  /** Returns the records, of which tasks make those of a guest. */
  public Dataset<Row> rows() {
    return rows;
  }

  /** Lets the tasks of a batch make the records of a guest, if both read the same; returns whether they will. */
  public boolean take(Guest guest, org.apache.spark.sql.Dataset<Row> batch) {
    Set<KafkaOffsetRange> own = KafkaReads.ranges((Dataset<Row>) batch, topic);
    boolean same = !own.isEmpty() && own.equals(guest.ranges()) && guest.reads() <= rows.schema().length();
    place.work = same ? guest.work() : null;
    return same;
  }

  /** Returns whether a batch reads records of its topic. */
  public boolean reads(org.apache.spark.sql.Dataset<Row> batch) {
    return !KafkaReads.ranges((Dataset<Row>) batch, topic).isEmpty();
  }

  /** Ends what a batch does for its guest; returns whether all records have been made. */
  public boolean end(Guest guest) {
    place.work = null;
    List<MicroBatchScanExec> scans = KafkaReads.scans(rows.sparkSession(), topic);
    return scans.size() == 1 && scans.get(0).longMetric("numOutputRows").value() == guest.rows();
  }
}
