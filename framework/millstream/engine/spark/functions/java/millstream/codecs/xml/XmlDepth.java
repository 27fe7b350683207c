package millstream.codecs.xml;

import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.util.StreamReaderDelegate;

/** A parser that knows how many elements are open. */
final class XmlDepth extends StreamReaderDelegate {
  private int depth;

  XmlDepth(XMLStreamReader parser) {
    super(parser);
  }

  int depth() {
    return depth;
  }

  /** Reads up to the end of the element that is open at a depth. */
  void leave(int inner) throws XMLStreamException {
    while (depth >= inner) {
      next();
    }
  }

  @Override
  public int next() throws XMLStreamException {
    int event = super.next();
    if (event == START_ELEMENT) {
      depth++;
    } else if (event == END_ELEMENT) {
      depth--;
    }
    return event;
  }
}
