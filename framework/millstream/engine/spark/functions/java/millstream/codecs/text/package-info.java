/** Separated values and single texts: formats in which every value is a text. */
package millstream.codecs.text;
