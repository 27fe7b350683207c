package millstream.codecs;

/** Why a value can't be decoded. Costs no stack trace: a topic may hold many bad records. */
public final class BadValue extends Exception {
  private static final int SHOWN = 60;
  private final StringBuilder path = new StringBuilder();
  private final String reason;

  public BadValue(String reason) {
    super(null, null, false, false);
    this.reason = reason;
  }

  public static BadValue of(String value, String expected) {
    return new BadValue(quoted(value) + " is not " + expected);
  }

  /** Adds the field, element or key that the value was found in, from the inside out. */
  public BadValue in(String name) {
    if (path.length() > 0 && path.charAt(0) != '[') {
      path.insert(0, '.');
    }
    path.insert(0, name);
    return this;
  }

  @Override
  public String getMessage() {
    return path.length() == 0 ? reason : "field " + path + ": " + reason;
  }

  /** Returns a text in quotes, cut and with control characters escaped. */
  public static String quoted(String text) {
    StringBuilder out = new StringBuilder("'");
    int end = Math.min(text.length(), SHOWN);
    for (int i = 0; i < end; i++) {
      char c = text.charAt(i);
      if (c < ' ' || c == 0x7f || Character.isSurrogate(c) || c == '\'' || c == '\\') {
        out.append(c == '\'' || c == '\\' ? "\\" + c : String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append(text.length() > SHOWN ? "…'" : "'").toString();
  }
}
