package millstream.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Partial results of tasks, merged in any order, are the result of all rows. */
final class FoldsTest {
  private static Serializable fold(Fold fold, Object... values) {
    Serializable state = fold.start();
    for (Object value : values) {
      fold.add(state, value);
    }
    return state;
  }

  @ParameterizedTest
  @CsvSource({
    "-5, 0",
    "0, 0",
    "1, 0",
    "2, 2",
    "3, 3",
    "1024, 20",
    "1449, 21",
    "9223372036854775807, 79"
  })
  void agesCountByHalfPowersOfTwo(long age, int step) {
    Ages ages = new Ages();
    ArrayData counts = (ArrayData) ages.result(fold(ages, age));
    assertEquals(80, counts.numElements());
    assertEquals(1, counts.getLong(step));
  }

  @Test
  void talliesMergeByLabel() {
    Tally tally = new Tally(new double[] {1, 10}, 2);
    Serializable one = fold(tally, "1\0a", "5\0a", "NaN\0a");
    Serializable other = fold(tally, "20\0a", "-1\0b", "7\0c");
    tally.merge(one, other);
    MapData sums = (MapData) tally.result(one);
    assertEquals(3, sums.numElements()); // `a`, `b`, and one for all others
    for (int i = 0; i < 3; i++) {
      ArrayData sum = sums.valueArray().getArray(i);
      if (sums.keyArray().getUTF8String(i).toString().equals("a")) {
        double[] expected = {3, 26, 1, 20, 1, 2};
        for (int index = 0; index < expected.length; index++) {
          assertEquals(expected[index], sum.getDouble(index));
        }
      }
    }
  }

  @Test
  void gatheredTextsAreCutAndCounted() {
    Gather gather = new Gather(1, 2);
    Serializable one = fold(gather, "x".repeat(20_000));
    gather.merge(one, fold(gather, "b", "c", "d"));
    InternalRow result = (InternalRow) gather.result(one);
    assertEquals(4, result.getLong(0));
    assertEquals(2, result.getArray(1).numElements());
    assertEquals(10_001, result.getArray(1).getUTF8String(0).numChars());
  }
}
