package millstream.codecs.text;

import java.time.ZoneId;
import java.util.Objects;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import millstream.codecs.Texts;
import org.apache.spark.sql.types.StructType;

/** Decodes a text as its only column, which is not a text itself. */
public final class TextFormat implements Decoder.Format {
  private final StructType fields;
  private final ZoneId zone;
  private transient TextReader reader;

  public TextFormat(StructType fields, ZoneId zone) {
    this.fields = fields;
    this.zone = zone;
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    if (reader == null) {
      reader = TextReader.of(fields.apply(0).dataType(), zone);
    }
    return new Object[] {reader.read(Texts.ofUtf8(value)), null};
  }

  @Override
  public Object[] ofNothing() throws BadValue {
    if (!fields.apply(0).nullable()) {
      throw new BadValue("the record has no value");
    }
    return new Object[2];
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TextFormat
        && fields.equals(((TextFormat) other).fields)
        && zone.equals(((TextFormat) other).zone);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone);
  }
}
