package millstream.spark;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.functions.AggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Sums up numbers by labels, for metrics: a row is a text of a number and labels, each after a NUL. The result
 * is a map from labels to an array: rows, sum, least, greatest, and rows up to each boundary. At most a number
 * of labels are kept apart; the rows of all others are counted under one label that is a SOH.
 */
final class Tally implements AggregateFunction<Tally.State, Object> {
  private static final String OTHERS = "\u0001";
  private static final int FIXED = 4;

  private final double[] boundaries;
  private final int most;

  Tally(double[] boundaries, int most) {
    this.boundaries = boundaries;
    this.most = most;
  }

  static final class State implements Serializable {
    private final Map<String, double[]> sums = new HashMap<>();
  }

  @Override
  public State newAggregationState() {
    return new State();
  }

  @Override
  public State update(State state, InternalRow row) {
    if (row.isNullAt(0)) {
      return state;
    }
    String text = row.getUTF8String(0).toString();
    int end = text.indexOf('\0');
    double number = Double.parseDouble(end < 0 ? text : text.substring(0, end));
    if (Double.isNaN(number)) {
      return state;
    }
    double[] sum = sum(state, end < 0 ? "" : text.substring(end + 1));
    sum[0] += 1;
    sum[1] += number;
    sum[2] = Math.min(sum[2], number);
    sum[3] = Math.max(sum[3], number);
    for (int each = 0; each < boundaries.length; each++) {
      if (number <= boundaries[each]) {
        sum[FIXED + each] += 1;
      }
    }
    return state;
  }

  @Override
  public State merge(State state, State other) {
    other.sums.forEach((labels, from) -> {
      double[] sum = sum(state, labels);
      for (int each = 0; each < sum.length; each++) {
        sum[each] = each == 2 ? Math.min(sum[2], from[2]) : each == 3 ? Math.max(sum[3], from[3]) : sum[each] + from[each];
      }
    });
    return state;
  }

  private double[] sum(State state, String labels) {
    double[] found = state.sums.get(labels);
    if (found == null) {
      String key = state.sums.size() < most ? labels : OTHERS;
      found = state.sums.computeIfAbsent(key, missing -> {
        double[] made = new double[FIXED + boundaries.length];
        made[2] = Double.POSITIVE_INFINITY;
        made[3] = Double.NEGATIVE_INFINITY;
        return made;
      });
    }
    return found;
  }

  @Override
  public Object produceResult(State state) {
    Object[] labels = new Object[state.sums.size()];
    Object[] sums = new Object[labels.length];
    int index = 0;
    for (Map.Entry<String, double[]> each : state.sums.entrySet()) {
      labels[index] = UTF8String.fromString(each.getKey());
      sums[index++] = new GenericArrayData(Arrays.stream(each.getValue()).boxed().toArray());
    }
    return new ArrayBasedMapData(new GenericArrayData(labels), new GenericArrayData(sums));
  }

  @Override
  public DataType[] inputTypes() {
    return new DataType[] {DataTypes.StringType};
  }

  @Override
  public DataType resultType() {
    return DataTypes.createMapType(DataTypes.StringType, DataTypes.createArrayType(DataTypes.DoubleType, false), false);
  }

  @Override
  public boolean isResultNullable() {
    return false;
  }

  @Override
  public String name() {
    return "tally";
  }

  @Override
  public String canonicalName() {
    return "millstream.tally(" + Arrays.toString(boundaries) + "," + most + ")";
  }
}
