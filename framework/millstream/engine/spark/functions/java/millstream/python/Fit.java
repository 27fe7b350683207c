package millstream.python;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Checks a result and returns it as Spark stores it, as {@code engine/python/return_checks.py}
 * does.
 */
public final class Fit {
  private static final double LARGEST_FLOAT = 3.4028235677973366e38;
  private final String expected;
  private final boolean optional;
  private final Function<Object, Object> stored;

  /** {@code stored} returns null for what does not fit. */
  private Fit(String expected, boolean optional, Function<Object, Object> stored) {
    this.expected = expected;
    this.optional = optional;
    this.stored = stored;
  }

  public static Fit scalar(String type, boolean optional) {
    return new Fit(type, optional, scalar(type));
  }

  public static Fit struct(boolean optional, String[] names, Fit[] fields) {
    int[] positions = PythonValues.positions(names);
    return new Fit(
        "a struct",
        optional,
        value ->
            value instanceof Object[] ? row((Object[]) value, names, positions, fields) : null);
  }

  public static Fit list(boolean optional, Fit element) {
    return new Fit(
        "an array",
        optional,
        value -> value instanceof List ? array((List<?>) value, element) : null);
  }

  public Object fitted(Object value) {
    Object item = value == null ? null : stored.apply(value);
    if (item == null && !(value == null && optional)) {
      throw new Unfit(value, expected, "");
    }
    return item;
  }

  private static Object row(Object[] value, String[] names, int[] positions, Fit[] fields) {
    Object[] values = new Object[names.length];
    for (int index = 0; index < names.length; index++) {
      try {
        values[index] = fields[index].fitted(value[positions[index]]);
      } catch (Unfit error) {
        throw error.within(names[index]);
      }
    }
    return new GenericInternalRow(values);
  }

  private static ArrayData array(List<?> value, Fit element) {
    Object[] values = new Object[value.size()];
    for (int index = 0; index < values.length; index++) {
      try {
        values[index] = element.fitted(value.get(index));
      } catch (Unfit error) {
        throw error.within("[" + index + "]");
      }
    }
    return new GenericArrayData(values);
  }

  private static Function<Object, Object> scalar(String type) {
    switch (type) {
      case "tinyint":
        return value -> isInteger(value, 8) ? (Object) (byte) integer(value) : null;
      case "smallint":
        return value -> isInteger(value, 16) ? (Object) (short) integer(value) : null;
      case "int":
        return value -> isInteger(value, 32) ? (Object) (int) integer(value) : null;
      case "bigint":
        return value -> isInteger(value, 64) ? (Object) integer(value) : null;
      case "float":
        return value ->
            isFloating(value) && isSingle(floating(value))
                ? (Object) (float) floating(value)
                : null;
      case "double":
        return value -> isFloating(value) ? (Object) floating(value) : null;
      case "boolean":
        return value -> value instanceof Boolean ? value : null;
      case "date":
        return value ->
            value instanceof LocalDate ? (Object) (int) ((LocalDate) value).toEpochDay() : null;
      case "timestamp":
        return value ->
            value instanceof LocalDateTime
                ? (Object) PythonTimes.micros((LocalDateTime) value)
                : null;
      case "string":
        return value -> value instanceof String ? UTF8String.fromString((String) value) : null;
      default:
        throw new IllegalArgumentException(type);
    }
  }

  private static boolean isInteger(Object value, int bits) {
    if (value instanceof Double) {
      double number = (Double) value;
      double limit = Math.scalb(1.0, bits - 1);
      return number == Math.rint(number) && number >= -limit && number < limit;
    }
    return value instanceof Long && (Long) value >> (bits - 1) == (Long) value >> 63;
  }

  private static long integer(Object value) {
    return ((Number) value).longValue();
  }

  /** Whether a value is a float, or an integer that one can hold. */
  private static boolean isFloating(Object value) {
    if (value instanceof Long) {
      return (long) (double) (Long) value == (Long) value && (Long) value != Long.MAX_VALUE;
    }
    if (value instanceof BigInteger) {
      double number = floating(value);
      return !Double.isInfinite(number) && new BigDecimal(number).toBigIntegerExact().equals(value);
    }
    return value instanceof Double;
  }

  private static double floating(Object value) {
    return ((Number) value).doubleValue();
  }

  private static boolean isSingle(double value) {
    return Double.isInfinite(value) || !(Math.abs(value) > LARGEST_FLOAT);
  }
}
