package millstream.codecs.xml;

import java.io.StringReader;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import millstream.codecs.BadValue;
import millstream.codecs.Decoder;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes an XML element whose children are the fields; a name that starts with {@code _} is an
 * attribute, and {@code _VALUE} the text of an element. Names count without their prefix. In an
 * envelope, such as SOAP's, the element is found below a path of others; a fault there is a bad
 * value.
 */
public final class XmlFormat implements Decoder.Format {
  private static final XMLInputFactory FACTORY = factory();
  private final StructType fields;
  private final ZoneId zone;
  private final List<String> path;
  private final String namespace;
  private transient XmlReader.Element reader;

  /**
   * Options: the path of the envelope, the element's name, and its namespace; each can be empty.
   */
  public XmlFormat(StructType fields, ZoneId zone, List<String> options) {
    this.fields = fields;
    this.zone = zone;
    this.path = new ArrayList<>();
    if (!options.get(0).isEmpty()) {
      path.addAll(List.of(options.get(0).split("/")));
    }
    path.add(options.get(1));
    this.namespace = options.get(2);
  }

  private static XMLInputFactory factory() {
    XMLInputFactory result = woodstox();
    result.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    result.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
    result.setProperty(XMLInputFactory.IS_COALESCING, true);
    // Otherwise, errors in texts are exceptions of another kind, at a later event.
    result.setProperty(
        result.getClass().getName().replace("stax.WstxInputFactory", "lazyParsing"), false);
    return result;
  }

  /**
   * Returns the parser by which Hadoop reads its configuration, so that Spark always has it. To
   * make a parser of the JDK takes three times as long as this one takes for a whole record.
   */
  private static XMLInputFactory woodstox() {
    for (String parent : List.of("org.apache.hadoop.shaded.", "")) {
      try {
        Class<?> type = Class.forName(parent + "com.ctc.wstx.stax.WstxInputFactory");
        return (XMLInputFactory) type.getDeclaredConstructor().newInstance();
      } catch (ClassNotFoundException missing) {
        continue; // Spark without Hadoop's jars has it under its own name
      } catch (ReflectiveOperationException error) {
        throw new IllegalStateException(error);
      }
    }
    throw new IllegalStateException("Woodstox, which Hadoop needs, is not on the class path");
  }

  @Override
  public Object[] decode(byte[] value) throws BadValue {
    String text = XmlEncoding.text(value);
    if (text.isBlank()) {
      throw new BadValue("the value is empty");
    }
    if (text.indexOf('\uFFFE') >= 0 || text.indexOf('\uFFFF') >= 0) {
      throw new BadValue("not XML: U+FFFE and U+FFFF are not characters"); // Woodstox takes them
    }
    if (reader == null) {
      reader = new XmlReader.Element(fields, zone);
    }
    try {
      XmlDepth xml = new XmlDepth(FACTORY.createXMLStreamReader(new StringReader(text)));
      start(xml, path.get(0));
      for (int i = 1; i < path.size(); i++) {
        descend(xml, path.get(i));
      }
      if (!namespace.isEmpty() && !namespace.equals(xml.getNamespaceURI())) {
        throw new BadValue(
            "the element "
                + BadValue.quoted(xml.getLocalName())
                + " is not in the namespace "
                + namespace);
      }
      Object[] row = reader.record(xml);
      finish(xml);
      return row;
    } catch (XMLStreamException error) {
      throw new BadValue("not XML: " + firstLine(error));
    }
  }

  private static void start(XMLStreamReader xml, String name) throws XMLStreamException, BadValue {
    while (xml.next() != XMLStreamConstants.START_ELEMENT) {
      if (xml.getEventType() == XMLStreamConstants.DTD) {
        throw new BadValue("document types are not allowed");
      }
    }
    if (!name.isEmpty() && !name.equals(xml.getLocalName())) {
      throw BadValue.of(xml.getLocalName(), "the element " + BadValue.quoted(name));
    }
  }

  /** Goes to the first child with a name; other children are skipped. */
  private static void descend(XMLStreamReader xml, String name)
      throws XMLStreamException, BadValue {
    while (xml.hasNext()) {
      int event = xml.next();
      if (event == XMLStreamConstants.END_ELEMENT) {
        throw new BadValue(
            name.isEmpty()
                ? "there is no element in the envelope"
                : "there is no element " + BadValue.quoted(name));
      }
      if (event != XMLStreamConstants.START_ELEMENT) {
        continue;
      }
      if (xml.getLocalName().equals("Fault")) {
        throw new BadValue("a fault: " + BadValue.quoted(XmlReader.textOf(xml).strip()));
      }
      if (name.isEmpty() || name.equals(xml.getLocalName())) {
        return;
      }
      XmlReader.skip(xml);
    }
  }

  /**
   * Reads what follows the record: all of it is well formed, and the envelope has no other record,
   * and no fault.
   */
  private void finish(XMLStreamReader xml) throws XMLStreamException, BadValue {
    String name = path.get(path.size() - 1);
    boolean inEnvelope = path.size() > 1;
    int depth = 0;
    while (xml.hasNext()) {
      int event = xml.next();
      if (event == XMLStreamConstants.START_ELEMENT) {
        if (inEnvelope && depth == 0) {
          other(xml, name);
        }
        depth++;
      } else if (event == XMLStreamConstants.END_ELEMENT) {
        depth--;
        inEnvelope &= depth >= 0;
      }
    }
  }

  private static void other(XMLStreamReader xml, String name) throws XMLStreamException, BadValue {
    if (xml.getLocalName().equals("Fault")) {
      throw new BadValue("a fault: " + BadValue.quoted(XmlReader.textOf(xml).strip()));
    }
    if (name.isEmpty() || name.equals(xml.getLocalName())) {
      throw new BadValue(
          "there are several elements "
              + (name.isEmpty() ? "in the envelope" : BadValue.quoted(name)));
    }
  }

  private static String firstLine(XMLStreamException error) {
    String message = String.valueOf(error.getMessage());
    int index = message.indexOf("Message: ");
    return (index < 0 ? message : message.substring(index + "Message: ".length()))
        .split("\n", 2)[0];
  }

  @Override
  public boolean equals(Object other) {
    if (!(other instanceof XmlFormat)) {
      return false;
    }
    XmlFormat that = (XmlFormat) other;
    return fields.equals(that.fields)
        && zone.equals(that.zone)
        && path.equals(that.path)
        && namespace.equals(that.namespace);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fields, zone, path, namespace);
  }
}
