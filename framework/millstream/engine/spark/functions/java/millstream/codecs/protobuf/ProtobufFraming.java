package millstream.codecs.protobuf;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import millstream.codecs.BadValue;
import millstream.codecs.Framing;
import millstream.codecs.Registry;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;

/**
 * What stands before a message: nothing, or what Confluent's serializers write there, which is a
 * zero, four bytes of a schema's id, and the indexes of the message in the schema's file, from the
 * outermost message to the nested one.
 */
final class ProtobufFraming {
  private final Framing framing;
  private final String message;
  private final List<Integer> indexes = new ArrayList<>();

  /** Where the schemas of ids have the message; empty if they lack it. */
  private final Map<Integer, List<Integer>> positions = new HashMap<>();

  /** Whether other ids than those are accepted: nothing is known of any. */
  private final boolean any;

  private final String prefix;
  private final List<String> names = new ArrayList<>();
  private final Registry registry;

  /**
   * Takes a name such as {@code confluent}, or {@code confluent 7=0.2 8=} with the places in
   * schemas by their ids, and the registry that has further ones, or null.
   */
  ProtobufFraming(String name, Descriptor message, Registry registry) {
    this.registry = registry;
    String[] parts = name.split(" ");
    this.framing = Framing.of(parts[0]);
    for (String text : Arrays.asList(parts).subList(1, parts.length)) {
      String[] item = text.split("=", 2);
      List<Integer> elements = new ArrayList<>();
      for (String index : item[1].isEmpty() ? new String[0] : item[1].split("\\.")) {
        elements.add(Integer.valueOf(index));
      }
      positions.put(Integer.valueOf(item[0]), elements);
    }
    this.any = positions.isEmpty();
    this.message = message.getFullName();
    this.prefix = message.getFile().getPackage();
    for (Descriptor type = message; type != null; type = type.getContainingType()) {
      indexes.add(0, type.getIndex());
      names.add(0, type.getName());
    }
  }

  /**
   * Returns where the message starts. Fields are known by their numbers, but messages by their
   * place in a file.
   */
  int start(byte[] value) throws BadValue {
    int header = framing.start(value);
    if (framing == Framing.PLAIN) {
      return header;
    }
    List<Integer> expected = any ? indexes : pathOf(Framing.id(value));
    int[] position = {header};
    int count = index(value, position);
    if (count != 0 && count != expected.size()) {
      throw unexpected(count + " message indexes", expected);
    }
    List<Integer> elements = new ArrayList<>();
    if (count == 0) { // what serializers write for the first message
      elements.add(0);
    }
    for (int i = 0; i < count; i++) {
      elements.add(index(value, position));
    }
    if (!elements.equals(expected)) {
      throw unexpected("message indexes " + shown(elements), expected);
    }
    return position[0];
  }

  /**
   * Returns where the schema of an id has the message; the registry is asked for ids that are not
   * listed.
   */
  private List<Integer> pathOf(int id) throws BadValue {
    List<Integer> cachedPath = positions.get(id);
    if (cachedPath != null) {
      return cachedPath;
    }
    Registry.Text text = registry == null ? null : registry.schemaOf(id);
    if (text == null) {
      throw new BadValue("unknown schema id " + id);
    }
    if (!text.type.equals("PROTOBUF")) {
      throw new BadValue("the schema of id " + id + " is " + text.type + ", not PROTOBUF");
    }
    List<Integer> path = ProtobufPlaces.find(text.schema, prefix, names);
    positions.put(id, path);
    return path;
  }

  private BadValue unexpected(String text, List<Integer> expected) {
    if (expected.isEmpty()) {
      return new BadValue("the schema of the value has no message " + message);
    }
    return new BadValue(
        "the value has " + text + ", not " + shown(expected) + " of message " + message);
  }

  private static String shown(List<Integer> indexes) {
    return indexes.stream().map(String::valueOf).collect(Collectors.joining("."));
  }

  private static int index(byte[] value, int[] position) throws BadValue {
    int number = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      if (position[0] == value.length) {
        throw new BadValue("the value is cut off in its message indexes");
      }
      byte next = value[position[0]++];
      number |= (next & 0x7f) << shift;
      if (next >= 0) {
        return number >>> 1 ^ -(number & 1);
      }
    }
    throw new BadValue("a message index has more than 32 bits");
  }

  /** Returns the bytes that stand before a message with a schema's id. */
  byte[] prefix(int id) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    if (framing == Framing.CONFLUENT) {
      out.write(0);
      for (int shift = 24; shift >= 0; shift -= 8) {
        out.write(id >>> shift);
      }
      if (indexes.equals(List.of(0))) {
        out.write(0);
      } else {
        write(out, indexes.size());
        indexes.forEach(index -> write(out, index));
      }
    }
    return out.toByteArray();
  }

  private static void write(ByteArrayOutputStream out, int index) {
    int rest = index << 1; // zig-zag of what is not negative
    for (; rest >= 0x80; rest >>>= 7) {
      out.write(rest | 0x80);
    }
    out.write(rest);
  }
}
