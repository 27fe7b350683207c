package millstream.codecs.xml;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.StandardCharsets;
import java.nio.charset.UnsupportedCharsetException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import millstream.codecs.BadValue;

/**
 * The text of an XML document: in UTF-8, unless its first bytes or its declaration say something
 * else.
 */
final class XmlEncoding {
  private static final Pattern DECLARED =
      Pattern.compile("\\A<\\?xml[^>]*?\\sencoding\\s*=\\s*[\"']([A-Za-z][A-Za-z0-9._-]*)[\"']");
  private static final int START = 200;

  private XmlEncoding() {}

  static String text(byte[] value) throws BadValue {
    if (startsWith(value, 0xFE, 0xFF)) {
      return decoded(value, 2, StandardCharsets.UTF_16BE);
    }
    if (startsWith(value, 0xFF, 0xFE)) {
      return decoded(value, 2, StandardCharsets.UTF_16LE);
    }
    int start = startsWith(value, 0xEF, 0xBB, 0xBF) ? 3 : 0;
    return decoded(value, start, declared(value, start));
  }

  private static Charset declared(byte[] value, int start) throws BadValue {
    String head =
        new String(
            value, start, Math.min(START, value.length - start), StandardCharsets.ISO_8859_1);
    Matcher matcher = DECLARED.matcher(head);
    if (!matcher.find()
        || matcher.group(1).toUpperCase(java.util.Locale.ROOT).startsWith("UTF-16")) {
      return StandardCharsets.UTF_8; // the declaration itself has one byte for each character
    }
    try {
      return Charset.forName(matcher.group(1));
    } catch (IllegalCharsetNameException | UnsupportedCharsetException error) {
      throw new BadValue("the encoding " + BadValue.quoted(matcher.group(1)) + " is not known");
    }
  }

  private static String decoded(byte[] value, int start, Charset charset) throws BadValue {
    try {
      return charset
          .newDecoder()
          .decode(ByteBuffer.wrap(value, start, value.length - start))
          .toString();
    } catch (CharacterCodingException error) {
      throw new BadValue("the value is not valid " + charset.name());
    }
  }

  private static boolean startsWith(byte[] value, int... bytes) {
    for (int i = 0; i < bytes.length; i++) {
      if (i >= value.length || (value[i] & 0xFF) != bytes[i]) {
        return false;
      }
    }
    return true;
  }
}
