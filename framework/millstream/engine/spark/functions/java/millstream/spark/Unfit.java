package millstream.spark;

/** Why a value can't be stored, or an argument can't be read. */
final class Unfit extends RuntimeException {
  private static final long serialVersionUID = 1;
  private static final int SHOWN = 80;
  private final transient Object value;
  private final String wanted;
  private final String path;

  Unfit(String message) {
    super(message, null, false, false);
    this.value = null;
    this.wanted = null;
    this.path = "";
  }

  Unfit(Object value, String wanted, String path) {
    super(wanted, null, false, false);
    this.value = value;
    this.wanted = wanted;
    this.path = path;
  }

  Unfit within(String name) {
    return new Unfit(value, wanted, path.isEmpty() ? name : name + "." + path);
  }

  /** Says the same as {@code UnfitError} of {@code engine/python/return_checks.py}. */
  String told(String unprintable) {
    String field = path.isEmpty() ? "" : " in '" + path + "'";
    if (wanted == null) {
      return getMessage();
    }
    return value == null
        ? "returned None" + field + ", whose hint is not optional: " + wanted
        : "returned " + shown(unprintable) + field + ", which does not fit " + wanted;
  }

  /** The start of a value on one line. */
  private String shown(String unprintable) {
    String text = String.join(" ", PythonTexts.repr(value, unprintable).trim().split("\\s+"));
    return text.codePointCount(0, text.length()) <= SHOWN
        ? text
        : text.substring(0, text.offsetByCodePoints(0, SHOWN)) + "…";
  }
}
