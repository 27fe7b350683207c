package millstream.python;

/** Why a value can't be stored, or an argument can't be read. */
public final class Unfit extends RuntimeException {
  private static final long serialVersionUID = 1;
  private static final int SHOWN = 80;
  private final transient Object value;
  private final String expected;
  private final String path;

  Unfit(String message) {
    super(message, null, false, false);
    this.value = null;
    this.expected = null;
    this.path = "";
  }

  Unfit(Object value, String expected, String path) {
    super(expected, null, false, false);
    this.value = value;
    this.expected = expected;
    this.path = path;
  }

  Unfit within(String name) {
    return new Unfit(value, expected, path.isEmpty() ? name : name + "." + path);
  }

  /** Says the same as {@code UnfitError} of {@code engine/python/return_checks.py}. */
  public String explain(String unprintable) {
    String field = path.isEmpty() ? "" : " in '" + path + "'";
    if (expected == null) {
      return getMessage();
    }
    return value == null
        ? "returned None" + field + ", whose hint is not optional: " + expected
        : "returned " + shown(unprintable) + field + ", which does not fit " + expected;
  }

  /** The start of a value on one line. */
  private String shown(String unprintable) {
    String text = String.join(" ", PythonTexts.repr(value, unprintable).trim().split("\\s+"));
    return text.codePointCount(0, text.length()) <= SHOWN
        ? text
        : text.substring(0, text.offsetByCodePoints(0, SHOWN)) + "…";
  }
}
