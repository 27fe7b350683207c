package millstream.codecs;

import java.nio.ByteBuffer;

/** What precedes a value in a record. */
public enum Framing {
  PLAIN,
  /** A zero byte and the id of the schema in four bytes, as Confluent's serializers write them. */
  CONFLUENT;

  static final int HEADER = 5;

  public static Framing of(String name) {
    return valueOf(name.toUpperCase(java.util.Locale.ROOT));
  }

  /** Returns where the value starts. */
  public int start(byte[] record) throws BadValue {
    if (this == PLAIN) {
      return 0;
    }
    if (record.length < HEADER) {
      throw new BadValue("the value has " + record.length + " bytes, and no id of a schema");
    }
    if (record[0] != 0) {
      throw new BadValue("the value does not start with a zero byte and the id of a schema");
    }
    return HEADER;
  }

  /** Returns what precedes a value of the schema of an id. */
  public byte[] header(int id) {
    return this == PLAIN ? new byte[0] : ByteBuffer.allocate(HEADER).putInt(1, id).array();
  }

  /** Returns the id of the schema of a framed value. */
  public static int id(byte[] record) {
    return (record[1] & 0xff) << 24
        | (record[2] & 0xff) << 16
        | (record[3] & 0xff) << 8
        | record[4] & 0xff;
  }
}
