package millstream.codecs.xml;

import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import millstream.codecs.BadColumns;
import millstream.codecs.BadValue;
import millstream.codecs.Texts;
import millstream.codecs.text.TextReader;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads the element at which a parser stands, up to its end, as a type. NULL is an element that
 * says {@code xsi:nil}.
 */
interface XmlReader {
  String VALUE = "_VALUE";

  Object read(XMLStreamReader xml) throws XMLStreamException, BadValue;

  static XmlReader of(DataType type, ZoneId zone) {
    if (type instanceof StructType) {
      Element element = new Element((StructType) type, zone);
      return xml -> new GenericInternalRow(element.read(xml));
    } else if (type instanceof MapType) {
      return new Entries((MapType) type, zone);
    }
    TextReader reader = TextReader.of(type, zone);
    boolean isText = type instanceof StringType;
    return xml -> {
      if (isText) {
        return reader.read(textOf(xml));
      }
      String word = wordOf(xml, type).strip();
      return word.isEmpty() ? null : reader.read(word);
    };
  }

  static boolean isNil(XMLStreamReader xml) {
    String nil = xml.getAttributeValue("http://www.w3.org/2001/XMLSchema-instance", "nil");
    return "true".equals(nil) || "1".equals(nil);
  }

  /** Returns the texts of an element and of all below it. */
  static String textOf(XMLStreamReader xml) throws XMLStreamException {
    StringBuilder text = new StringBuilder();
    int depth = 1;
    while (depth > 0) {
      switch (xml.next()) {
        case XMLStreamConstants.START_ELEMENT:
          depth++;
          break;
        case XMLStreamConstants.END_ELEMENT:
          depth--;
          break;
        case XMLStreamConstants.CHARACTERS:
        case XMLStreamConstants.CDATA:
        case XMLStreamConstants.SPACE:
          text.append(xml.getText());
          break;
        default:
      }
    }
    return text.toString();
  }

  /** Returns the text of an element without elements: the texts of those would become one value. */
  private static String wordOf(XMLStreamReader xml, DataType type)
      throws XMLStreamException, BadValue {
    StringBuilder text = new StringBuilder();
    int event;
    while ((event = xml.next()) != XMLStreamConstants.END_ELEMENT) {
      if (event == XMLStreamConstants.START_ELEMENT) {
        throw new BadValue("an element with elements is not " + Texts.a(type));
      }
      if (event == XMLStreamConstants.CHARACTERS
          || event == XMLStreamConstants.CDATA
          || event == XMLStreamConstants.SPACE) {
        text.append(xml.getText());
      }
    }
    return text.toString();
  }

  static void skip(XMLStreamReader xml) throws XMLStreamException {
    textOf(xml);
  }

  /** An element with fields. */
  final class Element {
    private final Map<String, Integer> indexes = new HashMap<>();
    private final StructField[] fields;
    private final XmlReader[] readers;
    private final TextReader[] ofTexts;

    Element(StructType type, ZoneId zone) {
      fields = type.fields();
      readers = new XmlReader[fields.length];
      ofTexts = new TextReader[fields.length];
      for (int i = 0; i < fields.length; i++) {
        indexes.put(fields[i].name(), i);
        DataType kind = fields[i].dataType();
        DataType dataType = kind instanceof ArrayType ? ((ArrayType) kind).elementType() : kind;
        if (fields[i].name().startsWith("_")) {
          ofTexts[i] = TextReader.of(dataType, zone);
        } else {
          readers[i] = of(dataType, zone);
        }
      }
    }

    /** Returns the values of all fields, and the {@link BadColumns} among them, or null. */
    Object[] record(XmlDepth xml) throws XMLStreamException {
      try {
        return read(xml, new Object[fields.length + 1], xml);
      } catch (BadValue error) {
        throw new IllegalStateException(error); // those of columns are collected
      }
    }

    /** Returns the values of all fields. */
    Object[] read(XMLStreamReader xml) throws XMLStreamException, BadValue {
      return read(xml, new Object[fields.length], null);
    }

    /**
     * Reads the fields; of a {@code record}, bad ones are collected, and otherwise the first fails.
     */
    private Object[] read(XMLStreamReader xml, Object[] row, XmlDepth record)
        throws XMLStreamException, BadValue {
      boolean[] seen = new boolean[fields.length];
      List<List<Object>> lists =
          new ArrayList<>(java.util.Collections.nCopies(fields.length, null));
      BadColumns bad = null;
      for (int i = 0; i < xml.getAttributeCount(); i++) {
        String name = "_" + xml.getAttributeLocalName(i);
        try {
          set(row, name, xml.getAttributeValue(i));
        } catch (BadValue error) {
          bad = badColumn(bad, record, name, error);
        }
      }
      StringBuilder text = new StringBuilder();
      while (true) {
        int event = xml.next();
        if (event == XMLStreamConstants.END_ELEMENT) {
          break;
        }
        if (event == XMLStreamConstants.CHARACTERS || event == XMLStreamConstants.CDATA) {
          text.append(xml.getText());
        }
        if (event == XMLStreamConstants.START_ELEMENT) {
          String name = xml.getLocalName();
          int depth = record == null ? 0 : record.depth();
          try {
            child(xml, name, row, seen, lists);
          } catch (BadValue error) {
            bad = badColumn(bad, record, name, error);
            record.leave(depth);
          }
        }
      }
      if (indexes.containsKey(VALUE) && !text.toString().isBlank()) {
        try {
          set(row, VALUE, text.toString().strip());
        } catch (BadValue error) {
          bad = badColumn(bad, record, VALUE, error);
        }
      }
      for (int i = 0; i < fields.length; i++) {
        String name = fields[i].name();
        if (BadColumns.has(bad, name)) {
          row[i] = null;
        } else if (lists.get(i) != null) {
          row[i] = new GenericArrayData(lists.get(i).toArray());
        } else if (row[i] == null && !fields[i].nullable()) {
          bad = badColumn(bad, record, name, new BadValue("the value is missing"));
        }
      }
      if (record != null) {
        row[fields.length] = bad;
      }
      return row;
    }

    private static BadColumns badColumn(
        BadColumns bad, XmlDepth record, String name, BadValue error) throws BadValue {
      if (record == null) {
        throw error.in(name);
      }
      return BadColumns.with(bad, name, error);
    }

    private void child(
        XMLStreamReader xml, String name, Object[] row, boolean[] seen, List<List<Object>> lists)
        throws XMLStreamException, BadValue {
      Integer index = indexes.get(name);
      if (index == null || readers[index] == null) {
        skip(xml);
        return;
      }
      boolean repeats = fields[index].dataType() instanceof ArrayType;
      if (seen[index] && !repeats) {
        throw new BadValue("there are several elements");
      }
      seen[index] = true;
      Object value;
      if (isNil(xml)) {
        skip(xml);
        value = null;
      } else {
        value = readers[index].read(xml);
      }
      if (!repeats) {
        row[index] = value;
        return;
      }
      if (lists.get(index) == null) {
        lists.set(index, new ArrayList<>());
      }
      lists.get(index).add(value);
    }

    private void set(Object[] row, String name, String text) throws BadValue {
      Integer index = indexes.get(name);
      if (index == null) {
        return;
      }
      row[index] =
          ofTexts[index].read(fields[index].dataType() instanceof StringType ? text : text.strip());
    }
  }

  /** The children of an element, by their names. */
  final class Entries implements XmlReader {
    private final XmlReader reader;

    Entries(MapType type, ZoneId zone) {
      reader = of(type.valueType(), zone);
    }

    @Override
    public Object read(XMLStreamReader xml) throws XMLStreamException, BadValue {
      Map<String, Object> entries = new java.util.LinkedHashMap<>();
      while (true) {
        int event = xml.next();
        if (event == XMLStreamConstants.END_ELEMENT) {
          break;
        }
        if (event != XMLStreamConstants.START_ELEMENT) {
          continue;
        }
        String name = xml.getLocalName();
        if (entries.containsKey(name)) {
          throw new BadValue("there are several elements").in(name);
        }
        entries.put(name, isNil(xml) ? nothing(xml) : reader.read(xml));
      }
      Object[] keys =
          entries.keySet().stream()
              .map(org.apache.spark.unsafe.types.UTF8String::fromString)
              .toArray();
      return new ArrayBasedMapData(
          new GenericArrayData(keys), new GenericArrayData(entries.values().toArray()));
    }

    private static Object nothing(XMLStreamReader xml) throws XMLStreamException {
      skip(xml);
      return null;
    }
  }
}
