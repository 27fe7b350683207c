package millstream.python;

/**
 * A Python function as generated Java code. Its arguments and its result are values of Python, see
 * {@link PythonValues}.
 */
public interface NativeBody {
  Object call(Object[] arguments);

  /** The ranges of characters that {@code repr} escapes, for errors. */
  String unprintable();

  /** The check of results. */
  Fit result();
}
