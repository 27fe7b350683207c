/** Elements of XML as rows. */
package millstream.codecs.xml;
