package millstream.python;

/** An integer needs more than 64 bits: the function starts again with integers of any size. */
public final class WideInteger extends RuntimeException {
  private static final long serialVersionUID = 1;
  public static final WideInteger INSTANCE = new WideInteger();

  private WideInteger() {
    super("an integer of more than 64 bits", null, false, false);
  }
}
