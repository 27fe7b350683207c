package millstream.codecs.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import millstream.codecs.BadValue;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class CsvFormatTest {
  private static String decode(String text) throws BadValue {
    CsvFormat format =
        new CsvFormat(
            StructType.fromDDL("a string, b string"),
            ZoneOffset.UTC,
            List.of(",", "\"", "\\", "false"));
    Object[] row = format.decode(text.getBytes(StandardCharsets.UTF_8));
    return Arrays.stream(row, 0, 2).map(String::valueOf).collect(Collectors.joining("|"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "1,2; 1|2",
        ",; null|null",
        "\"\",; |null",
        "\"a,b\",c; a,b|c",
        "\"a\"\"b\",c; a\"b|c",
        "\"a\\\"b\",c; a\"b|c",
        "\"a\\\\\",c; a\\|c",
        "a\"b,c; a\"b|c",
        "'a',b; 'a'|b"
      })
  void reads(String line, String row) throws BadValue {
    assertEquals(row, decode(line));
    assertEquals(row, decode(line + "\n"));
    assertEquals(row, decode(line + "\r\n"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "1", "1,2,3", "\"a,b", "\"a\"b,c", "1,2\n3,4", "1,2\n\n"})
  void refuses(String line) {
    assertThrows(BadValue.class, () -> decode(line));
  }
}
