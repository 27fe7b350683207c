package millstream.python;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.DoubleStream;

/** Python's texts: their positions count characters, not units of UTF-16. */
public final class PythonTexts {
  private static final int SIGMA = 0x3a3;
  private static final char FINAL_SIGMA = '\u03c2';

  private PythonTexts() {}

  /** By characters; Java's own order is that of UTF-16. */
  public static int compare(String a, String b) {
    int least = Math.min(a.length(), b.length());
    for (int index = 0; index < least; index++) {
      char left = a.charAt(index);
      char right = b.charAt(index);
      if (left != right) {
        boolean surrogates = Character.isSurrogate(left) != Character.isSurrogate(right);
        return surrogates ? (Character.isSurrogate(left) ? 1 : -1) : left - right;
      }
    }
    return a.length() - b.length();
  }

  public static long length(String text) {
    return text.codePointCount(0, text.length());
  }

  public static String text(Object value) {
    return value instanceof String ? (String) value : repr(value);
  }

  public static String text(double value) {
    if (value != value) {
      return "nan";
    }
    if (Double.isInfinite(value)) {
      return value > 0 ? "inf" : "-inf";
    }
    String sign = value < 0 || 1 / value < 0 ? "-" : "";
    if (value == 0) {
      return sign + "0.0";
    }
    BigDecimal shortest = shortest(Math.abs(value));
    String digits = shortest.unscaledValue().toString();
    int point = digits.length() - shortest.scale();
    if (point > 16 || point < -3) {
      String fraction = digits.length() > 1 ? "." + digits.substring(1) : "";
      int exponent = point - 1;
      String power =
          (exponent < 0 ? "-" : "+") + (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
      return sign + digits.charAt(0) + fraction + "e" + power;
    }
    if (point <= 0) {
      return sign + "0." + "0".repeat(-point) + digits;
    }
    if (point >= digits.length()) {
      return sign + digits + "0".repeat(point - digits.length()) + ".0";
    }
    return sign + digits.substring(0, point) + "." + digits.substring(point);
  }

  private static final double[] TENS =
      DoubleStream.iterate(1, value -> value * 10).limit(18).toArray();
  private static final double FEW_DIGITS = 1e15;

  /** The fewest digits that give a positive value back. Java before 19 may print more. */
  private static BigDecimal shortest(double value) {
    int least = 1;
    if (value >= 1e-3 && value < FEW_DIGITS) {
      // No two numbers of 15 digits are the same float. Such a number times a power of ten is off
      // by less than a
      // quarter, and the quotient of two exact numbers is rounded once, as their digits are when
      // they are read.
      for (int decimals = 0;
          decimals < TENS.length && value * TENS[decimals] < FEW_DIGITS;
          decimals++) {
        double rounded = Math.rint(value * TENS[decimals]);
        if (rounded / TENS[decimals] == value) {
          return BigDecimal.valueOf((long) rounded, decimals).stripTrailingZeros();
        }
      }
      least = 16;
    }
    BigDecimal exact = new BigDecimal(value);
    // The next smaller float is nearer than the next greater one: the best digits can be above, not
    // the nearest.
    boolean isPowerOfTwo =
        Math.getExponent(value) >= Double.MIN_EXPONENT
            && value == Math.scalb(1.0, Math.getExponent(value));
    for (int digits = least; digits < 17; digits++) {
      BigDecimal decimal = exact.round(new MathContext(digits, RoundingMode.HALF_EVEN));
      if (isPowerOfTwo && decimal.doubleValue() != value) {
        decimal = exact.round(new MathContext(digits, RoundingMode.UP));
      }
      if (decimal.doubleValue() == value) {
        return decimal.stripTrailingZeros();
      }
    }
    return exact.round(new MathContext(17, RoundingMode.HALF_EVEN)).stripTrailingZeros();
  }

  /** {@code format(value, ".<digits>f")}. */
  public static String fixed(Object value, int digits) {
    if (PythonValues.isInteger(value)) {
      value = PythonValues.toDouble(value);
    }
    double number = (Double) value;
    if (number != number || Double.isInfinite(number)) {
      return text(number);
    }
    String sign = number < 0 || number == 0 && 1 / number < 0 ? "-" : "";
    return sign
        + new BigDecimal(Math.abs(number)).setScale(digits, RoundingMode.HALF_EVEN).toPlainString();
  }

  /** The ranges of characters that {@code repr} escapes, as this Python knows them. */
  public static String repr(Object value, String unprintable) {
    return value instanceof String ? quoted((String) value, unprintable) : repr(value);
  }

  private static String repr(Object value) {
    if (value == null) {
      return "None";
    } else if (value instanceof Boolean) {
      return (Boolean) value ? "True" : "False";
    } else if (value instanceof Double) {
      return text(((Double) value).doubleValue());
    }
    return value.toString();
  }

  private static String quoted(String text, String unprintable) {
    char quote = text.indexOf('\'') >= 0 && text.indexOf('"') < 0 ? '"' : '\'';
    StringBuilder builder = new StringBuilder().append(quote);
    text.codePoints()
        .forEach(
            value -> {
              if (value == quote || value == '\\') {
                builder.append('\\').append((char) value);
              } else if (value == '\n') {
                builder.append("\\n");
              } else if (value == '\r') {
                builder.append("\\r");
              } else if (value == '\t') {
                builder.append("\\t");
              } else if (isWithin(value, unprintable)) {
                builder.append(
                    String.format(
                        value < 0x100 ? "\\x%02x" : value < 0x10000 ? "\\u%04x" : "\\U%08x",
                        value));
              } else {
                builder.appendCodePoint(value);
              }
            });
    return builder.append(quote).toString();
  }

  public static String item(String text, Object index) {
    long length = length(text);
    if (index instanceof BigInteger) {
      throw new PythonError("IndexError", "cannot fit 'int' into an index-sized integer");
    }
    long position = PythonValues.toLong(index);
    position = position < 0 ? position + length : position;
    if (position < 0 || position >= length) {
      throw new PythonError("IndexError", "string index out of range");
    }
    return part(text, position, position + 1);
  }

  /** {@code text[start:stop]}; None stands for the start or the end. */
  public static String slice(String text, Object start, Object stop) {
    long length = length(text);
    long first = start == null ? 0 : PythonValues.position(start, length);
    long last = stop == null ? length : PythonValues.position(stop, length);
    return first >= last ? "" : part(text, first, last);
  }

  private static String part(String text, long first, long last) {
    if (text.length() == length(text)) {
      return text.substring((int) first, (int) last);
    }
    int start = text.offsetByCodePoints(0, (int) first);
    return text.substring(start, text.offsetByCodePoints(start, (int) (last - first)));
  }

  /** {@code text.strip(characters)}, of one side or both. */
  public static String strip(String text, String characters, boolean left, boolean right) {
    int start = 0;
    int stop = text.length();
    while (left && start < stop && characters.indexOf(text.codePointAt(start)) >= 0) {
      start += Character.charCount(text.codePointAt(start));
    }
    while (right && start < stop && characters.indexOf(text.codePointBefore(stop)) >= 0) {
      stop -= Character.charCount(text.codePointBefore(stop));
    }
    return text.substring(start, stop);
  }

  public static long find(String text, String part) {
    int number = text.indexOf(part);
    return number < 0 ? -1 : text.codePointCount(0, number);
  }

  /** {@code text.count(part)}: between all characters there is an empty text. */
  public static long count(String text, String part) {
    if (part.isEmpty()) {
      return length(text) + 1;
    }
    long number = 0;
    for (int index = text.indexOf(part);
        index >= 0;
        index = text.indexOf(part, index + part.length())) {
      number++;
    }
    return number;
  }

  public static List<Object> characters(String text) {
    List<Object> elements = new ArrayList<>(text.length());
    text.codePoints().forEach(value -> elements.add(Character.toString(value)));
    return elements;
  }

  public static String join(String between, List<Object> parts) {
    StringBuilder text = new StringBuilder();
    for (int index = 0; index < parts.size(); index++) {
      Object part = parts.get(index);
      if (!(part instanceof String)) {
        throw new PythonError(
            "TypeError",
            "sequence item "
                + index
                + ": expected str instance, "
                + PythonValues.typeOf(part)
                + " found");
      }
      text.append(index > 0 ? between : "").append((String) part);
    }
    return text.toString();
  }

  /** {@code text.split(part, most)}: a negative number is no limit. */
  public static List<Object> split(String text, String part, long most) {
    List<Object> elements = new ArrayList<>();
    int start = 0;
    for (int index = text.indexOf(part);
        index >= 0 && (most < 0 || elements.size() < most);
        index = text.indexOf(part, start)) {
      elements.add(text.substring(start, index));
      start = index + part.length();
    }
    elements.add(text.substring(start));
    return elements;
  }

  /** {@code text.split()}. */
  public static List<Object> words(String text, String spaces) {
    List<Object> elements = new ArrayList<>();
    int start = 0;
    for (int index = 0; index <= text.length(); index++) {
      if (index == text.length() || spaces.indexOf(text.charAt(index)) >= 0) {
        if (index > start) {
          elements.add(text.substring(start, index));
        }
        start = index + 1;
      }
    }
    return elements;
  }

  /** Reads what a character becomes: each is followed by its text and a NUL. */
  public static Map<Integer, String> table(String entries) {
    Map<Integer, String> pairs = new HashMap<>();
    for (int start = 0; start < entries.length(); ) {
      int end = entries.indexOf('\0', start);
      int code = entries.codePointAt(start);
      pairs.put(code, entries.substring(start + Character.charCount(code), end));
      start = end + 1;
    }
    return pairs;
  }

  public static String upper(String text, Map<Integer, String> table) {
    if (isAscii(text)) {
      return text.toUpperCase(Locale.ROOT);
    }
    StringBuilder builder = new StringBuilder(text.length());
    text.codePoints().forEach(value -> append(builder, value, table));
    return builder.toString();
  }

  /**
   * {@code text.lower()}: a sigma at the end of a word has a form of its own. The ranges say where
   * words end.
   */
  public static String lower(
      String text, Map<Integer, String> table, String cased, String ignored) {
    if (isAscii(text)) {
      return text.toLowerCase(Locale.ROOT);
    }
    int[] characters = text.codePoints().toArray();
    StringBuilder builder = new StringBuilder(text.length());
    for (int index = 0; index < characters.length; index++) {
      if (characters[index] == SIGMA
          && isCasedNext(characters, index, -1, cased, ignored)
          && !isCasedNext(characters, index, 1, cased, ignored)) {
        builder.append(FINAL_SIGMA);
      } else {
        append(builder, characters[index], table);
      }
    }
    return builder.toString();
  }

  private static boolean isAscii(String text) {
    for (int index = 0; index < text.length(); index++) {
      if (text.charAt(index) >= 0x80) {
        return false;
      }
    }
    return true;
  }

  private static void append(StringBuilder text, int character, Map<Integer, String> table) {
    String other = table.get(character);
    if (other == null) {
      text.appendCodePoint(character);
    } else {
      text.append(other);
    }
  }

  private static boolean isCasedNext(
      int[] characters, int index, int step, String cased, String ignored) {
    int position = index + step;
    while (position >= 0
        && position < characters.length
        && isWithin(characters[position], ignored)) {
      position += step;
    }
    return position >= 0 && position < characters.length && isWithin(characters[position], cased);
  }

  private static boolean isWithin(int character, String ranges) {
    for (int index = 0; index < ranges.length(); ) {
      int first = ranges.codePointAt(index);
      index += Character.charCount(first);
      int last = ranges.codePointAt(index);
      index += Character.charCount(last);
      if (first <= character && character <= last) {
        return true;
      }
    }
    return false;
  }
}
