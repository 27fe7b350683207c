package millstream.python;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PythonNumbersTest {
  @ParameterizedTest
  @CsvSource({"7, 2, 3, 1", "-7, 2, -4, 1", "7, -2, -4, -1", "-7, -2, 3, -1", "0, -5, 0, 0"})
  void dividesAsPython(long a, long b, long quotient, long rest) {
    assertEquals(quotient, PythonNumbers.floorDivide(a, b, ""));
    assertEquals(rest, PythonNumbers.modulo(a, b, ""));
  }

  @Test
  void whatLeaves64BitsIsNotWrapped() {
    assertThrows(WideInteger.class, () -> PythonNumbers.add(Long.MAX_VALUE, 1));
    assertThrows(WideInteger.class, () -> PythonNumbers.subtract(Long.MIN_VALUE, 1));
    assertThrows(WideInteger.class, () -> PythonNumbers.multiply(1L << 62, 2));
    assertThrows(WideInteger.class, () -> PythonNumbers.negate(Long.MIN_VALUE));
    assertThrows(WideInteger.class, () -> PythonNumbers.absolute(Long.MIN_VALUE));
    assertThrows(WideInteger.class, () -> PythonNumbers.floorDivide(Long.MIN_VALUE, -1, ""));
  }

  @Test
  void dividingByZeroIsPythonsError() {
    assertThrows(PythonError.class, () -> PythonNumbers.floorDivide(1, 0, "zero"));
    assertThrows(PythonError.class, () -> PythonNumbers.modulo(1, 0, "zero"));
    assertThrows(PythonError.class, () -> PythonNumbers.divide(1.0, 0.0, "zero"));
  }

  @Test
  void integersDivideToTheNearestDouble() {
    Random random = new Random(1);
    for (int number = 0; number < 10_000; number++) {
      long a = (random.nextLong() >> random.nextInt(64)) | 1;
      long b = (random.nextLong() >> random.nextInt(63)) | 1;
      double expected =
          new java.math.BigDecimal(a)
              .divide(new java.math.BigDecimal(b), new java.math.MathContext(60))
              .doubleValue();
      assertEquals(expected, PythonNumbers.divide(a, b, ""), a + " / " + b);
      assertEquals(
          expected, PythonNumbers.divide(BigInteger.valueOf(a), BigInteger.valueOf(b), ""));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "9007199254740993, 9007199254740992.0, 1", "9223372036854775807, 9223372036854775808.0, -1",
    "-9223372036854775808, -9223372036854775808.0, 0", "1, 1.5, -1"
  })
  void integersAndFloatsCompareExactly(long a, double b, int order) {
    assertEquals(order, Integer.signum(PythonNumbers.compare(a, b)));
  }

  @ParameterizedTest
  @CsvSource({"0.5, 0", "1.5, 2", "2.5, 2", "-0.5, 0", "-1.5, -2"})
  void halvesRoundToEven(double value, long rounded) {
    assertEquals(rounded, PythonNumbers.round(value));
  }
}
