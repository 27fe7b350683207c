package millstream.rows;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Sums up numbers by labels, for metrics: a value is a text of a number and labels, each after a
 * NUL. The result is a map from labels to an array: rows, sum, least, greatest, and rows up to each
 * boundary. At most a number of labels are kept apart; the rows of all others are counted under one
 * label that is a SOH.
 */
public final class Tally implements Fold {
  private static final String OTHERS = "\u0001";
  private static final int FIXED = 4;

  private final double[] boundaries;
  private final int most;

  public Tally(double[] boundaries, int most) {
    this.boundaries = boundaries;
    this.most = most;
  }

  @Override
  public Serializable start() {
    return new HashMap<String, double[]>();
  }

  @SuppressWarnings("unchecked")
  private static Map<String, double[]> sums(Serializable state) {
    return (Map<String, double[]>) state;
  }

  @Override
  public void add(Serializable state, Object value) {
    String text = value.toString();
    int end = text.indexOf('\0');
    double number = Double.parseDouble(end < 0 ? text : text.substring(0, end));
    if (Double.isNaN(number)) {
      return;
    }
    double[] sum = sum(sums(state), end < 0 ? "" : text.substring(end + 1));
    sum[0] += 1;
    sum[1] += number;
    sum[2] = Math.min(sum[2], number);
    sum[3] = Math.max(sum[3], number);
    for (int i = 0; i < boundaries.length; i++) {
      if (number <= boundaries[i]) {
        sum[FIXED + i] += 1;
      }
    }
  }

  @Override
  public void merge(Serializable state, Serializable other) {
    sums(other)
        .forEach(
            (labels, from) -> {
              double[] sum = sum(sums(state), labels);
              for (int i = 0; i < sum.length; i++) {
                sum[i] =
                    i == 2
                        ? Math.min(sum[2], from[2])
                        : i == 3 ? Math.max(sum[3], from[3]) : sum[i] + from[i];
              }
            });
  }

  private double[] sum(Map<String, double[]> sums, String labels) {
    double[] result = sums.get(labels);
    if (result == null) {
      result =
          sums.computeIfAbsent(
              sums.size() - (sums.containsKey(OTHERS) ? 1 : 0) < most ? labels : OTHERS,
              missing -> {
                double[] initial = new double[FIXED + boundaries.length];
                initial[2] = Double.POSITIVE_INFINITY;
                initial[3] = Double.NEGATIVE_INFINITY;
                return initial;
              });
    }
    return result;
  }

  @Override
  public Object result(Serializable state) {
    Map<String, double[]> sums = sums(state);
    Object[] labels = sums.keySet().stream().map(UTF8String::fromString).toArray();
    Object[] arrays = sums.values().stream().map(GenericArrayData::new).toArray();
    return new ArrayBasedMapData(new GenericArrayData(labels), new GenericArrayData(arrays));
  }

  @Override
  public DataType type() {
    return DataTypes.createMapType(
        DataTypes.StringType, DataTypes.createArrayType(DataTypes.DoubleType, false), false);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Tally
        && most == ((Tally) other).most
        && Arrays.equals(boundaries, ((Tally) other).boundaries);
  }

  @Override
  public int hashCode() {
    return 31 * most + Arrays.hashCode(boundaries);
  }
}
