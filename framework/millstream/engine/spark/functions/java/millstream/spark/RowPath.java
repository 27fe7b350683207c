package millstream.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.execution.AggregatingAccumulator;
import org.apache.spark.sql.types.DataType;
import scala.Function2;

/** Compiled steps, which one task at a time runs. */
final class RowPath {
  private final Function2<SpecializedGetters, Object, Object>[] leaf;
  private final Object[] frame;
  private final InternalRow row;
  private final List<RowFunction> functions = new ArrayList<>();
  private final Runnable first;
  private Runnable last;
  private List<AggregatingAccumulator> observed;

  /** `given` are the types of the rows, which are in the first columns of a frame of some width. */
  RowPath(DataType[] types, int width, List<RowStep> steps) {
    this.leaf = readers(types);
    this.frame = new Object[width];
    this.row = new GenericInternalRow(frame);
    Runnable next = () -> last.run();
    for (int i = steps.size() - 1; i >= 0; i--) {
      next = steps.get(i).over(this, next);
    }
    this.first = next;
  }

  /**
   * Returns what reads the values of a row, by their types: `InternalRow.get` looks at Spark's
   * configuration for each.
   */
  @SuppressWarnings("unchecked")
  static Function2<SpecializedGetters, Object, Object>[] readers(DataType[] types) {
    return Arrays.stream(types)
        .map(type -> InternalRow.getAccessor(type, true))
        .toArray(Function2[]::new);
  }

  Object[] frame() {
    return frame;
  }

  /** Returns the frame as a row. */
  InternalRow row() {
    return row;
  }

  RowFunction compiled(List<Expression> bound, Object[] values, int first) {
    RowFunction function = RowFunction.of(bound, values, first);
    functions.add(function);
    return function;
  }

  void observe(int number) {
    observed.get(number).add(row);
  }

  /** Begins the rows of a partition; `last` runs for each row that the steps give. */
  void begin(int partition, List<AggregatingAccumulator> observed, Runnable last) {
    this.observed = observed;
    this.last = last;
    functions.forEach(function -> function.initialize(partition));
  }

  /** Runs the steps for all rows. */
  void run(Iterator<InternalRow> rows) {
    while (rows.hasNext()) {
      InternalRow next = rows.next();
      for (int i = 0; i < leaf.length; i++) {
        frame[i] = leaf[i].apply(next, i);
      }
      first.run();
    }
  }

  /** Runs the steps for a row that has their columns at some places among others. */
  void run(InternalRow row, int[] positions) {
    for (int i = 0; i < leaf.length; i++) {
      frame[i] = leaf[i].apply(row, positions[i]);
    }
    first.run();
  }

  void end() {
    observed = null;
    last = null;
  }
}
