package millstream.rows;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Counts numbers of milliseconds by size: two steps for each power of two, from 1 on. */
public final class Ages implements Fold {
  private static final int STEPS = 80;
  private static final double HALF = Math.sqrt(2);

  @Override
  public Serializable start() {
    return new long[STEPS];
  }

  @Override
  public void add(Serializable state, Object value) {
    long age = Math.max(1, (Long) value);
    int power = 63 - Long.numberOfLeadingZeros(age);
    int step = 2 * power + (age >= (1L << power) * HALF ? 1 : 0);
    ((long[]) state)[Math.min(step, STEPS - 1)]++;
  }

  @Override
  public void merge(Serializable state, Serializable other) {
    for (int step = 0; step < STEPS; step++) {
      ((long[]) state)[step] += ((long[]) other)[step];
    }
  }

  @Override
  public Object result(Serializable state) {
    return new GenericArrayData((long[]) state);
  }

  @Override
  public DataType type() {
    return DataTypes.createArrayType(DataTypes.LongType, false);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Ages;
  }

  @Override
  public int hashCode() {
    return STEPS;
  }
}
