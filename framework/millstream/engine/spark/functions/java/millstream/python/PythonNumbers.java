package millstream.python;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;

/**
 * Python's arithmetic of 64-bit integers and floats; what leaves 64 bits throws {@link
 * WideInteger}.
 */
public final class PythonNumbers {
  private static final long EXACT = 1L << 53;
  private static final double[] POWERS = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
  };

  private PythonNumbers() {}

  public static long add(long a, long b) {
    long sum = a + b;
    if (((a ^ sum) & (b ^ sum)) < 0) {
      throw WideInteger.INSTANCE;
    }
    return sum;
  }

  public static long subtract(long a, long b) {
    long difference = a - b;
    if (((a ^ b) & (a ^ difference)) < 0) {
      throw WideInteger.INSTANCE;
    }
    return difference;
  }

  public static long multiply(long a, long b) {
    long high = Math.multiplyHigh(a, b);
    long low = a * b;
    if (high != low >> 63) {
      throw WideInteger.INSTANCE;
    }
    return low;
  }

  public static long negate(long a) {
    return subtract(0, a);
  }

  public static long absolute(long a) {
    return a < 0 ? negate(a) : a;
  }

  public static double divide(long a, long b, String message) {
    if (b == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    if (-EXACT <= a && a <= EXACT && -EXACT <= b && b <= EXACT) {
      return (double) a / (double) b;
    }
    return divide(BigInteger.valueOf(a), BigInteger.valueOf(b), message);
  }

  public static double divide(double a, double b, String message) {
    if (b == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    return a / b;
  }

  /** Rounds the exact quotient once, half to even, also among subnormal numbers. */
  static double divide(BigInteger a, BigInteger b, String message) {
    if (b.signum() == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    if (a.signum() == 0) {
      return b.signum() < 0 ? -0.0 : 0.0;
    }
    BigInteger dividend = a.abs();
    BigInteger divisor = b.abs();
    // 66 bits of the quotient, and a last one that stands for all that follow, decide how it is
    // rounded.
    int shift = Math.max(0, 66 - (dividend.bitLength() - divisor.bitLength()));
    BigInteger[] parts = dividend.shiftLeft(shift).divideAndRemainder(divisor);
    BigInteger quotient = parts[1].signum() == 0 ? parts[0] : parts[0].setBit(0);
    BigDecimal value = new BigDecimal(quotient);
    double number =
        shift == 0
            ? value.doubleValue()
            : value.divide(new BigDecimal(BigInteger.ONE.shiftLeft(shift))).doubleValue();
    if (Double.isInfinite(number)) {
      throw new PythonError("OverflowError", "integer division result too large for a float");
    }
    return a.signum() == b.signum() ? number : -number;
  }

  public static long floorDivide(long a, long b, String message) {
    if (b == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    if (b == -1) {
      return negate(a);
    }
    return Math.floorDiv(a, b);
  }

  public static long modulo(long a, long b, String message) {
    if (b == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    return Math.floorMod(a, b);
  }

  public static double modulo(double a, double b, String message) {
    if (b == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    double rest = a % b;
    if (rest == 0) {
      return Math.copySign(0.0, b);
    }
    return b < 0 == rest < 0 ? rest : rest + b;
  }

  public static double floorDivide(double a, double b, String message) {
    if (b == 0) {
      throw new PythonError("ZeroDivisionError", message);
    }
    double rest = a % b;
    double quotient = (a - rest) / b;
    if (rest != 0 && b < 0 != rest < 0) {
      quotient -= 1.0;
    }
    if (quotient == 0) {
      return Math.copySign(0.0, a / b);
    }
    double floor = Math.floor(quotient);
    return quotient - floor > 0.5 ? floor + 1.0 : floor;
  }

  /** Compares the numbers themselves, not the float next to the integer. Not for NaN. */
  public static int compare(long a, double b) {
    if (-EXACT <= a && a <= EXACT) {
      return Double.compare((double) a, b == 0 ? 0.0 : b);
    }
    if (Double.isInfinite(b)) {
      return b > 0 ? -1 : 1;
    }
    return new BigDecimal(a).compareTo(new BigDecimal(b));
  }

  public static boolean equal(long a, double b) {
    return b == b && compare(a, b) == 0;
  }

  public static boolean less(long a, double b) {
    return b == b && compare(a, b) < 0;
  }

  public static boolean less(double a, long b) {
    return a == a && compare(b, a) > 0;
  }

  public static boolean lessOrEqual(long a, double b) {
    return b == b && compare(a, b) <= 0;
  }

  public static boolean lessOrEqual(double a, long b) {
    return a == a && compare(b, a) >= 0;
  }

  /** {@code int(a)} and {@code math.trunc(a)}. */
  public static long truncate(double a) {
    return integer(a, a < 0 ? Math.ceil(a) : Math.floor(a));
  }

  public static long floor(double a) {
    return integer(a, Math.floor(a));
  }

  public static long ceil(double a) {
    return integer(a, Math.ceil(a));
  }

  /** {@code round(a)}: half to even. */
  public static long round(double a) {
    return integer(a, Math.rint(a));
  }

  private static long integer(double value, double number) {
    finite(value);
    if (number >= -0x1p63 && number < 0x1p63) {
      return (long) number;
    }
    throw WideInteger.INSTANCE;
  }

  static void finite(double value) {
    if (value != value) {
      throw new PythonError("ValueError", "cannot convert float NaN to integer");
    }
    if (Double.isInfinite(value)) {
      throw new PythonError("OverflowError", "cannot convert float infinity to integer");
    }
  }

  /** {@code round(a, digits)}: the exact binary value, rounded half to even as a decimal number. */
  public static double round(double a, int digits) {
    if (a != a || Double.isInfinite(a) || a == 0) {
      return a;
    }
    if (digits >= 0 && digits < POWERS.length) {
      double scaled = a * POWERS[digits];
      double rounded = Math.rint(scaled);
      // The product is off by half a unit in the last place at most: then it decides unless it is
      // near a tie.
      if (Math.abs(scaled) < 0x1p51
          && Math.abs(Math.abs(scaled - rounded) - 0.5) > 4 * Math.ulp(scaled)) {
        return rounded == 0 ? Math.copySign(0.0, a) : rounded / POWERS[digits];
      }
    }
    double number = new BigDecimal(a).setScale(digits, RoundingMode.HALF_EVEN).doubleValue();
    if (Double.isInfinite(number)) {
      throw new PythonError("OverflowError", "rounded value too large to represent");
    }
    return number == 0 ? Math.copySign(0.0, a) : number;
  }

  /** The next value of a range, or its end. */
  public static long next(long value, long step, long end) {
    long number = value + step;
    return ((value ^ number) & (step ^ number)) < 0 ? end : number;
  }
}
