package millstream.python;

/** An exception that Python would raise here. */
public final class PythonError extends RuntimeException {
  private static final long serialVersionUID = 1;
  private static final String LINE_END = "\\r\\n|[\\n\\r\\x0b\\x0c\\x1c-\\x1e\\x85\\u2028\\u2029]";
  private final String type;
  private int line;

  public PythonError(String type, String message) {
    super(message, null, false, false);
    this.type = type;
  }

  /** Keeps the line of the innermost function, as Python's tracebacks end with it. */
  public PythonError atLine(int where) {
    if (line == 0) {
      line = where;
    }
    return this;
  }

  /** Says the same as {@code user_code.failure} says of an exception. */
  public String explain(String function, String file) {
    String text = getMessage().replaceFirst("(?:" + LINE_END + ")$", "");
    String message = String.join(" ", text.split(LINE_END, -1));
    return function + "(): " + type + ": " + message + " (" + file + ":" + line + ")";
  }
}
