package millstream.codecs;

import com.fasterxml.jackson.core.JsonFactory;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

public final class Texts {
  public static final JsonFactory FACTORY = new JsonFactory();
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private Texts() {}

  /** Encodes characters; half of a pair of surrogates is refused, since Java would write '?'. */
  public static UTF8String utf8(char[] text, int offset, int length) throws BadValue {
    byte[] ascii = new byte[length];
    for (int i = 0; i < length; i++) {
      char c = text[offset + i];
      if (c >= 0x80) {
        return encoded(text, offset, length);
      }
      ascii[i] = (byte) c;
    }
    return UTF8String.fromBytes(ascii);
  }

  private static UTF8String encoded(char[] text, int offset, int length) throws BadValue {
    for (int i = offset; i < offset + length; i++) {
      char c = text[i];
      if (Character.isSurrogate(c)) {
        if (Character.isLowSurrogate(c)
            || i + 1 == offset + length
            || !Character.isLowSurrogate(text[i + 1])) {
          throw BadValue.of(
              new String(text, offset, length), "a valid text: it has half of a surrogate pair");
        }
        i++;
      }
    }
    return UTF8String.fromString(new String(text, offset, length));
  }

  /** Several times as fast as Spark's check whether a text is UTF-8, which most texts need not. */
  public static boolean isAscii(byte[] bytes, int start, int length) {
    int end = start + length;
    int i = start;
    for (; i + 8 <= end; i += 8) {
      if (((long) LONG.get(bytes, i) & 0x8080808080808080L) != 0) {
        return false;
      }
    }
    for (; i < end; i++) {
      if (bytes[i] < 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * Fails if bytes from {@code start} on are not UTF-8: parsers accept characters that are encoded
   * with too many bytes.
   */
  public static void checkUtf8(byte[] value, int start) throws BadValue {
    int length = value.length - start;
    if (!isAscii(value, start, length) && !UTF8String.fromBytes(value, start, length).isValid()) {
      throw new BadValue("the value is not valid UTF-8");
    }
  }

  /** Decodes bytes, of which none may be malformed. */
  public static String ofUtf8(byte[] value) throws BadValue {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).toString();
    } catch (CharacterCodingException error) {
      throw new BadValue("the value is not valid UTF-8");
    }
  }

  public static String a(DataType type) {
    String name = type.sql().toLowerCase(java.util.Locale.ROOT);
    return ("aeio".indexOf(name.charAt(0)) >= 0 ? "an " : "a ") + name;
  }
}
