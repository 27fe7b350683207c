package millstream.codecs.json;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.util.HexFormat;
import millstream.codecs.BadValue;
import millstream.codecs.Framing;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Values of any kind, with the kinds of mistakes that parsers of JSON are known to accept. */
final class JsonFormatTest {
  private static JsonFormat format(String columns, boolean single) {
    return new JsonFormat(StructType.fromDDL(columns), ZoneOffset.UTC, Framing.PLAIN, single);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[]",
        "[[]]",
        " [1 ]",
        "[-0]",
        "[1e22]",
        "[0e+1]",
        "[1.5E-2]",
        "\"\"",
        "\"\\u0060\"",
        "\"\\uD834\\uDD1E\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "{}",
        "{\"\": 0}",
        "{\"a\": [true, false]}",
        "{\"a\": {\"b\": null}}",
        "\"\u00a0\u2028\"",
        "-1",
        "123.456"
      })
  void reads(String text) throws BadValue {
    assertNotNull(format("value variant", true).decode(utf8(text))[0]);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "[",
        "]",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "[1 2]",
        "[1]]",
        "{} {}",
        "[]x",
        "[01]",
        "[-]",
        "[+1]",
        "[.5]",
        "[1.]",
        "[1e]",
        "[1e+]",
        "[0x1]",
        "[NaN]",
        "[Infinity]",
        "[-Infinity]",
        "[1_000]",
        "[\u0661]",
        "\"",
        "\"\n\"",
        "\"\t\"",
        "\"\\x00\"",
        "\"\\u00A\"",
        "\"\\a\"",
        "'a'",
        "[True]",
        "[nul]",
        "{\"a\"}",
        "{\"a\":}",
        "{a: 1}",
        "{1: 1}",
        "{'a': 1}",
        "{\"a\": 1,}",
        "{\"a\" 1}",
        "{\"a\"::1}",
        "[1] // comment",
        "/**/ []",
        "# []",
        "[\f]",
        "\u00a0[]",
        "\ufeff[]",
        "[\u0000]"
      })
  void refuses(String text) {
    assertThrows(BadValue.class, () -> format("value variant", true).decode(utf8(text)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "22ff22",
        "22c08022",
        "22eda08022",
        "22f490808022",
        "22e022",
        "fffe5b005d00",
        "5b005d00"
      })
  void refusesBytesThatAreNotUtf8(String hex) {
    assertThrows(
        BadValue.class, () -> format("value string", true).decode(HexFormat.of().parseHex(hex)));
  }

  @Test
  void depthHasALimit() {
    for (String text : new String[] {"[".repeat(100_000), "{\"a\":".repeat(100_000)}) {
      assertThrows(BadValue.class, () -> format("value variant", true).decode(utf8(text)));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "tinyint, 127, 128",
    "smallint, -32768, -32769",
    "int, 2147483647, 2147483648",
    "bigint, -9223372036854775808, -9223372036854775809",
    "float, 3.4e38, 3.5e38",
    "double, 1.7e308, 1e400",
    "'decimal(3, 1)', 99.9, 100.0",
    "date, '\"9999-12-31\"', '\"10000-01-01\"'",
    "boolean, true, 1",
    "binary, '\"AA==\"', '\"A\"'",
    "int, 1, 1.5",
    "int, 1, '\"1\"'"
  })
  void limitsOfTypes(String type, String good, String bad) throws BadValue {
    JsonFormat format = format("value " + type, false);
    Object[] row = format.decode(utf8("{\"value\": " + good + "}"));
    assertNotNull(row[0]);
    assertNull(row[1]);
    row = format.decode(utf8("{\"value\": " + bad + "}"));
    assertNull(row[0]);
    assertNotNull(row[1]);
  }

  @Test
  void oneWrongColumnLeavesTheOthers() throws BadValue {
    Object[] row =
        format("a int, b int", false).decode(utf8("{\"a\": \"x\", \"other\": [{}], \"b\": 2}"));
    assertNull(row[0]);
    assertEquals(2, row[1]);
    assertNotNull(row[2]);
  }
}
