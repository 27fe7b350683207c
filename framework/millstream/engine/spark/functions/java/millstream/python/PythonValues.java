package millstream.python;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Operators on values whose class is known only at run time: null is None, and there are Boolean,
 * Long, BigInteger (beyond 64 bits), Double, String, LocalDate, LocalDateTime and List. Constant
 * collections are List, Set and Map. A struct is an array of its fields, in the order of their
 * names.
 */
public final class PythonValues {
  private static final BigInteger LEAST = BigInteger.valueOf(Long.MIN_VALUE);
  private static final BigInteger LARGEST = BigInteger.valueOf(Long.MAX_VALUE);

  private PythonValues() {}

  public static String typeOf(Object value) {
    if (value == null) {
      return "NoneType";
    } else if (value instanceof Boolean) {
      return "bool";
    } else if (value instanceof Long || value instanceof BigInteger) {
      return "int";
    }
    if (value instanceof LocalDate) {
      return "datetime.date";
    } else if (value instanceof LocalDateTime) {
      return "datetime.datetime";
    }
    return value instanceof Double ? "float" : "str";
  }

  /** Where the array of a struct holds its fields. */
  static int[] positions(String[] names) {
    String[] sorted = names.clone();
    Arrays.sort(sorted, PythonTexts::compare);
    int[] indexes = new int[names.length];
    for (int index = 0; index < names.length; index++) {
      indexes[index] = Arrays.binarySearch(sorted, names[index], PythonTexts::compare);
    }
    return indexes;
  }

  /** Whether neither a value nor a part of it is None. */
  public static boolean isPresent(Object value) {
    if (value instanceof Object[]) {
      for (Object part : (Object[]) value) {
        if (!isPresent(part)) {
          return false;
        }
      }
    } else if (value instanceof List) {
      return isPresent(((List<?>) value).toArray());
    }
    return value != null;
  }

  static boolean isInteger(Object value) {
    return value instanceof Long || value instanceof BigInteger || value instanceof Boolean;
  }

  static boolean isNumber(Object value) {
    return value instanceof Double || isInteger(value);
  }

  static BigInteger big(Object value) {
    if (value instanceof BigInteger) {
      return (BigInteger) value;
    }
    return BigInteger.valueOf(value instanceof Boolean ? ((Boolean) value ? 1 : 0) : (Long) value);
  }

  /** An integer that fits 64 bits is always a Long. */
  static Object integer(BigInteger value) {
    return value.compareTo(LEAST) < 0 || value.compareTo(LARGEST) > 0
        ? value
        : (Object) value.longValue();
  }

  /** A value of code that knows 64 bits only. */
  public static Object narrow(Object value) {
    if (value instanceof BigInteger) {
      throw WideInteger.INSTANCE;
    }
    return value;
  }

  public static long toLong(Object value) {
    if (value instanceof BigInteger) {
      throw WideInteger.INSTANCE;
    }
    return value instanceof Boolean ? ((Boolean) value ? 1 : 0) : (Long) value;
  }

  /** A bound of a range: no loop gets to the end of a wider one. */
  public static long bound(Object value) {
    if (value instanceof BigInteger) {
      return ((BigInteger) value).signum() < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
    return toLong(value);
  }

  public static double toDouble(Object value) {
    if (value instanceof Double) {
      return (Double) value;
    }
    if (value instanceof BigInteger) {
      double number = new BigDecimal((BigInteger) value).doubleValue();
      if (Double.isInfinite(number)) {
        throw new PythonError("OverflowError", "int too large to convert to float");
      }
      return number;
    }
    return (double) toLong(value);
  }

  public static boolean truth(Object value) {
    if (value == null) {
      return false;
    } else if (value instanceof Boolean) {
      return (Boolean) value;
    } else if (value instanceof Long) {
      return (Long) value != 0;
    } else if (value instanceof Double) {
      return (Double) value != 0;
    } else if (value instanceof List) {
      return !((List<?>) value).isEmpty();
    }
    return !(value instanceof String) || !((String) value).isEmpty();
  }

  public static PythonError unsupported(String operator, Object a, Object b) {
    return new PythonError(
        "TypeError",
        "unsupported operand type(s) for "
            + operator
            + ": '"
            + typeOf(a)
            + "' and '"
            + typeOf(b)
            + "'");
  }

  public static Object add(Object a, Object b) {
    if (a instanceof String && b instanceof String) {
      return (String) a + (String) b;
    }
    if (a instanceof String) {
      throw new PythonError(
          "TypeError", "can only concatenate str (not \"" + typeOf(b) + "\") to str");
    }
    if (!isNumber(a) || !isNumber(b)) {
      throw unsupported("+", a, b);
    }
    if (a instanceof Double || b instanceof Double) {
      return toDouble(a) + toDouble(b);
    }
    return integer(big(a).add(big(b)));
  }

  public static Object subtract(Object a, Object b) {
    if (!isNumber(a) || !isNumber(b)) {
      throw unsupported("-", a, b);
    }
    if (a instanceof Double || b instanceof Double) {
      return toDouble(a) - toDouble(b);
    }
    return integer(big(a).subtract(big(b)));
  }

  /** Not for texts: their repetition is not translated. */
  public static Object multiply(Object a, Object b) {
    if (!isNumber(a) || !isNumber(b)) {
      String text = a instanceof String ? typeOf(b) : b instanceof String ? typeOf(a) : "";
      throw text.isEmpty()
          ? unsupported("*", a, b)
          : new PythonError(
              "TypeError", "can't multiply sequence by non-int of type '" + text + "'");
    }
    if (a instanceof Double || b instanceof Double) {
      return toDouble(a) * toDouble(b);
    }
    return integer(big(a).multiply(big(b)));
  }

  public static Object divide(Object a, Object b, String ofIntegers, String ofFloats) {
    if (!isNumber(a) || !isNumber(b)) {
      throw unsupported("/", a, b);
    }
    if (a instanceof Double || b instanceof Double) {
      return PythonNumbers.divide(toDouble(a), toDouble(b), ofFloats);
    }
    return PythonNumbers.divide(big(a), big(b), ofIntegers);
  }

  public static Object floorDivide(Object a, Object b, String ofIntegers, String ofFloats) {
    if (!isNumber(a) || !isNumber(b)) {
      throw unsupported("//", a, b);
    }
    if (a instanceof Double || b instanceof Double) {
      return PythonNumbers.floorDivide(toDouble(a), toDouble(b), ofFloats);
    }
    return integer(divideAndRemainder(big(a), big(b), ofIntegers)[0]);
  }

  /** Not for texts: formatting by {@code %} is not translated. */
  public static Object modulo(Object a, Object b, String ofIntegers, String ofFloats) {
    if (!isNumber(a) || !isNumber(b)) {
      throw unsupported("%", a, b);
    }
    if (a instanceof Double || b instanceof Double) {
      return PythonNumbers.modulo(toDouble(a), toDouble(b), ofFloats);
    }
    return integer(divideAndRemainder(big(a), big(b), ofIntegers)[1]);
  }

  private static BigInteger[] divideAndRemainder(BigInteger a, BigInteger b, String message) {
    if (b.signum() == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    BigInteger[] parts = a.divideAndRemainder(b);
    if (parts[1].signum() != 0 && parts[1].signum() != b.signum()) {
      return new BigInteger[] {parts[0].subtract(BigInteger.ONE), parts[1].add(b)};
    }
    return parts;
  }

  public static Object negate(Object a) {
    if (a instanceof Double) {
      return -(Double) a;
    }
    if (!isInteger(a)) {
      throw new PythonError("TypeError", "bad operand type for unary -: '" + typeOf(a) + "'");
    }
    return integer(big(a).negate());
  }

  public static Object positive(Object a) {
    if (a instanceof Double) {
      return a;
    }
    if (!isInteger(a)) {
      throw new PythonError("TypeError", "bad operand type for unary +: '" + typeOf(a) + "'");
    }
    return integer(big(a));
  }

  public static Object absolute(Object a) {
    if (a instanceof Double) {
      return Math.abs((Double) a);
    }
    if (!isInteger(a)) {
      throw new PythonError("TypeError", "bad operand type for abs(): '" + typeOf(a) + "'");
    }
    return integer(big(a).abs());
  }

  public static boolean equal(Object a, Object b) {
    if (isNumber(a) && isNumber(b)) {
      if (a instanceof Double && b instanceof Double) {
        return ((Double) a).doubleValue() == ((Double) b).doubleValue();
      }
      if (a instanceof Double || b instanceof Double) {
        double number = a instanceof Double ? (Double) a : (Double) b;
        Object other = a instanceof Double ? b : a;
        return number == number && !Double.isInfinite(number) && compare(other, number) == 0;
      }
      return big(a).equals(big(b));
    }
    return a == null ? b == null : a.equals(b);
  }

  public static boolean less(Object a, Object b) {
    return ordered(a, b, "<") && sign(a, b) < 0;
  }

  public static boolean lessOrEqual(Object a, Object b) {
    return ordered(a, b, "<=") && sign(a, b) <= 0;
  }

  public static boolean greater(Object a, Object b) {
    return ordered(a, b, ">") && sign(a, b) > 0;
  }

  public static boolean greaterOrEqual(Object a, Object b) {
    return ordered(a, b, ">=") && sign(a, b) >= 0;
  }

  /** Whether two values have an order: with NaN, no comparison holds. */
  private static boolean ordered(Object a, Object b, String operator) {
    if (isNumber(a) && isNumber(b)) {
      return !isNaN(a) && !isNaN(b);
    }
    if (a != null && b != null && a.getClass() == b.getClass()) {
      return true;
    }
    throw new PythonError(
        "TypeError",
        "'"
            + operator
            + "' not supported between instances of '"
            + typeOf(a)
            + "' and '"
            + typeOf(b)
            + "'");
  }

  private static boolean isNaN(Object value) {
    return value instanceof Double && ((Double) value).isNaN();
  }

  private static int sign(Object a, Object b) {
    if (a instanceof String) {
      return PythonTexts.compare((String) a, (String) b);
    }
    if (a instanceof LocalDate) {
      return ((LocalDate) a).compareTo((LocalDate) b);
    }
    if (a instanceof LocalDateTime) {
      return ((LocalDateTime) a).compareTo((LocalDateTime) b);
    }
    if (a instanceof Long && b instanceof Long) {
      return Long.compare((Long) a, (Long) b);
    }
    if (a instanceof Double && b instanceof Double) {
      double left = (Double) a;
      double right = (Double) b;
      return left < right ? -1 : left > right ? 1 : 0;
    }
    if (b instanceof Double) {
      return compare(a, (Double) b);
    }
    return a instanceof Double ? -compare(b, (Double) a) : big(a).compareTo(big(b));
  }

  private static int compare(Object integer, double number) {
    if (Double.isInfinite(number)) {
      return number > 0 ? -1 : 1;
    }
    return new BigDecimal(big(integer)).compareTo(new BigDecimal(number));
  }

  /** Integers of the results of {@link PythonNumbers#whole}, of any size. */
  public static Object truncate(Object a) {
    return rounded(a, java.math.RoundingMode.DOWN);
  }

  public static Object floor(Object a) {
    return rounded(a, java.math.RoundingMode.FLOOR);
  }

  public static Object ceil(Object a) {
    return rounded(a, java.math.RoundingMode.CEILING);
  }

  public static Object round(Object a) {
    return rounded(a, java.math.RoundingMode.HALF_EVEN);
  }

  private static Object rounded(Object a, java.math.RoundingMode mode) {
    if (isInteger(a)) {
      return integer(big(a));
    }
    PythonNumbers.finite((Double) a);
    return integer(new BigDecimal((Double) a).setScale(0, mode).toBigIntegerExact());
  }

  /** {@code round(a, digits)}. */
  public static Object round(Object a, int digits) {
    return a instanceof Double ? (Object) PythonNumbers.round((Double) a, digits) : integer(big(a));
  }

  /** What is equal in Python has equal keys: 1, 1.0 and True. */
  public static Object key(Object value) {
    if (value instanceof Double) {
      double number = (Double) value;
      if (number == Math.rint(number) && !Double.isInfinite(number)) {
        return integer(new BigDecimal(number).toBigIntegerExact());
      }
      return value;
    }
    return value instanceof Boolean ? (Object) (long) ((Boolean) value ? 1 : 0) : value;
  }

  public static Set<Object> set(Object... values) {
    Set<Object> elements = new HashSet<>();
    for (Object value : values) {
      elements.add(key(value));
    }
    return elements;
  }

  /** Keys and values, in turn. */
  public static Map<Object, Object> map(Object... values) {
    Map<Object, Object> entries = new HashMap<>();
    for (int index = 0; index < values.length; index += 2) {
      entries.put(key(values[index]), values[index + 1]);
    }
    return entries;
  }

  public static List<Object> list(Object... values) {
    return Arrays.asList(values);
  }

  /** Not NaN, which is equal to nothing: NaN of a row is never the one of a constant. */
  public static boolean contains(Set<Object> set, Object value) {
    return !isNaN(value) && set.contains(key(value));
  }

  public static boolean contains(List<Object> list, Object value) {
    for (Object item : list) {
      if (equal(item, value)) {
        return true;
      }
    }
    return false;
  }

  public static boolean contains(Map<Object, Object> map, Object value) {
    return !isNaN(value) && map.containsKey(key(value));
  }

  public static Object get(Map<Object, Object> map, Object key, Object otherwise) {
    Object value = isNaN(key) ? null : map.get(key(key));
    return value == null && (isNaN(key) || !map.containsKey(key(key))) ? otherwise : value;
  }

  public static Object item(Map<Object, Object> map, Object key, String unprintable) {
    if (!contains(map, key)) {
      throw new PythonError("KeyError", PythonTexts.repr(key, unprintable));
    }
    return map.get(key(key));
  }

  public static Object item(List<Object> list, Object index, String type) {
    long position = index instanceof BigInteger ? Long.MAX_VALUE : toLong(index);
    long number = position < 0 ? position + list.size() : position;
    if (index instanceof BigInteger) {
      throw new PythonError("IndexError", "cannot fit 'int' into an index-sized integer");
    }
    if (number < 0 || number >= list.size()) {
      throw new PythonError("IndexError", type + " index out of range");
    }
    return list.get((int) number);
  }

  /** {@code list[start:stop]}; None stands for the start or the end. */
  public static List<Object> slice(List<Object> list, Object start, Object stop) {
    int first = start == null ? 0 : (int) position(start, list.size());
    int last = stop == null ? list.size() : (int) position(stop, list.size());
    return first >= last ? list() : list.subList(first, last);
  }

  /** Where a bound of a slice is in a sequence. */
  static long position(Object index, long length) {
    long start = bound(index);
    return start < 0 ? Math.max(0, start + length) : Math.min(start, length);
  }

  /** Not for floats, of which NaN has no place. */
  public static List<Object> sorted(List<Object> list, boolean reverse) {
    List<Object> elements = new ArrayList<>(list);
    elements.sort((a, b) -> reverse ? sign(b, a) : sign(a, b));
    return elements;
  }
}
