package millstream.codecs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class FramingTest {
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 127, 128, 0x7fffffff, -1})
  void idsAreReadAsWritten(int id) throws BadValue {
    byte[] header = Framing.CONFLUENT.header(id);
    assertEquals(5, Framing.CONFLUENT.start(header));
    assertEquals(id, Framing.id(header));
  }

  @Test
  void plainValuesHaveNoHeader() throws BadValue {
    assertArrayEquals(new byte[0], Framing.PLAIN.header(7));
    assertEquals(0, Framing.PLAIN.start(new byte[0]));
  }

  @Test
  void shortAndForeignHeadersAreRefused() {
    assertThrows(BadValue.class, () -> Framing.CONFLUENT.start(new byte[4]));
    assertThrows(BadValue.class, () -> Framing.CONFLUENT.start(new byte[] {1, 0, 0, 0, 7}));
  }
}
