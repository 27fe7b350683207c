package millstream.codecs.json;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** The bytes of a JSON text, with the escapes of Jackson. */
final class JsonOutput {
  private static final int START = 512;
  private static final int LONGEST_NUMBER = 20;
  private static final byte[] HEX = "0123456789ABCDEF".getBytes(StandardCharsets.US_ASCII);

  /**
   * By ASCII character: 0 if it stands for itself, the letter after a backslash, or 'u' for its
   * number.
   */
  private static final byte[] ESCAPES = new byte[128];

  static {
    Arrays.fill(ESCAPES, 0, ' ', (byte) 'u');
    String shorts = "\bb\tt\nn\ff\rr\"\"\\\\";
    for (int i = 0; i < shorts.length(); i += 2) {
      ESCAPES[shorts.charAt(i)] = (byte) shorts.charAt(i + 1);
    }
  }

  private byte[] bytes = new byte[START];
  private int length;

  void clear() {
    length = 0;
  }

  byte[] written() {
    return Arrays.copyOf(bytes, length);
  }

  void put(char one) {
    reserve(1);
    bytes[length++] = (byte) one;
  }

  void put(byte[] text) {
    reserve(text.length);
    System.arraycopy(text, 0, bytes, length, text.length);
    length += text.length;
  }

  /** Writes ASCII characters as they are. */
  @SuppressWarnings(
      "deprecation") // what it is deprecated for, other characters than those of Latin-1, is not
  // here
  void ascii(String text) {
    int more = text.length();
    reserve(more);
    text.getBytes(0, more, bytes, length);
    length += more;
  }

  void number(long value) {
    if (value == Long.MIN_VALUE) {
      ascii(Long.toString(value));
      return;
    }
    reserve(LONGEST_NUMBER);
    long left = Math.abs(value);
    int digits = 1;
    for (long rest = left; rest > 9; rest /= 10) {
      digits++;
    }
    if (value < 0) {
      bytes[length++] = '-';
    }
    for (int index = length + digits - 1; index >= length; index--) {
      bytes[index] = (byte) ('0' + left % 10);
      left /= 10;
    }
    length += digits;
  }

  void quoted(UTF8String text) {
    put('"');
    int start = length;
    int size = text.numBytes();
    reserve(size);
    Platform.copyMemory(
        text.getBaseObject(),
        text.getBaseOffset(),
        bytes,
        Platform.BYTE_ARRAY_OFFSET + length,
        size);
    boolean plain = true;
    int sign = 0;
    for (int index = start; index < start + size; index++) {
      byte character = bytes[index];
      sign |= character;
      plain &= character < 0 || ESCAPES[character] == 0;
    }
    length += size;
    if (sign < 0 && !text.isValid()) {
      length = start;
      escaped(text.toString().getBytes(StandardCharsets.UTF_8));
    } else if (!plain) {
      length = start;
      escaped(text.getBytes());
    }
    put('"');
  }

  private void escaped(byte[] text) {
    reserve(6 * text.length);
    for (byte character : text) {
      byte escape = character < 0 ? 0 : ESCAPES[character];
      if (escape == 0) {
        bytes[length++] = character;
        continue;
      }
      bytes[length++] = '\\';
      bytes[length++] = escape;
      if (escape == 'u') {
        bytes[length++] = '0';
        bytes[length++] = '0';
        bytes[length++] = HEX[character >> 4];
        bytes[length++] = HEX[character & 15];
      }
    }
  }

  private void reserve(int more) {
    if (bytes.length - length < more) {
      bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(length, more), 2 * bytes.length));
    }
  }
}
