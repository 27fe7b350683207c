package millstream.files;

import java.io.IOException;
import java.net.URI;
import java.util.Arrays;
import millstream.spark.HadoopSettings;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.util.LineReader;

/** The lines of a file, cut as by Spark's reader of texts (LineRecordReader). */
public final class FileLines {
  private static final byte[] BYTE_ORDER_MARK = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};

  private FileLines() {}

  /** Returns the first line; null if the file is empty. */
  static byte[] first(String address) throws IOException {
    try (LineReader lines = open(address)) {
      Text line = new Text();
      return lines.readLine(line) == 0 ? null : withoutMark(line.copyBytes());
    }
  }

  /**
   * Returns the number of the first line with some bytes, from 1; 0 if there is none any more.
   * Spark does not number lines, so they are counted only if an error names one.
   */
  public static int number(String address, byte[] text) {
    try (LineReader lines = open(address)) {
      Text line = new Text();
      for (int number = 1; lines.readLine(line) > 0; number++) {
        byte[] bytes = line.copyBytes();
        if (Arrays.equals(number == 1 ? withoutMark(bytes) : bytes, text)) {
          return number;
        }
      }
    } catch (IOException error) {
      return 0;
    }
    return 0;
  }

  /**
   * The numbers of some lines of files in the order in which they are, so that equal lines have
   * each their own. Only the place of the last one is remembered: no file stays open.
   */
  static final class Numbers {
    private String address = "";
    private long block;
    private int number;
    private long end;

    /**
     * Returns the number of the next line with some bytes, in the block of the file that begins at
     * a byte; if the file was changed, that of the first one, as {@link FileLines#number}.
     */
    int next(String file, byte[] text, long start) {
      if (!file.equals(address) || start != block) {
        address = file;
        block = start;
        number = 0;
        end = 0;
      }
      try {
        Configuration configuration = HadoopSettings.settings();
        boolean plain = codec(path(file), configuration) == null;
        int seen = plain ? number : 0;
        long position = plain ? end : 0;
        try (LineReader lines = open(file, position)) {
          Text line = new Text();
          for (int read = lines.readLine(line); read > 0; read = lines.readLine(line)) {
            long began = position;
            position += read;
            seen++;
            // A reader of a block leaves the line at its first byte to that of the block before.
            boolean before = plain && start > 0 && began <= start;
            byte[] bytes = seen == 1 ? withoutMark(line.copyBytes()) : line.copyBytes();
            if (seen > number && !before && Arrays.equals(bytes, text)) {
              number = seen;
              end = position;
              return seen;
            }
          }
        }
      } catch (IOException error) {
        return 0;
      }
      return number(file, text);
    }
  }

  /** Returns the path of an address as Spark's column {@code _metadata.file_path} has it. */
  static Path path(String address) {
    return new Path(URI.create(address));
  }

  /** Returns an address as people write it. */
  public static String shown(String address) {
    Path path = path(address);
    return "file".equals(path.toUri().getScheme()) ? path.toUri().getPath() : path.toString();
  }

  private static LineReader open(String address) throws IOException {
    return open(address, 0);
  }

  private static LineReader open(String address, long position) throws IOException {
    Configuration configuration = HadoopSettings.settings();
    Path path = path(address);
    FSDataInputStream input = path.getFileSystem(configuration).open(path);
    input.seek(position);
    CompressionCodec codec = codec(path, configuration);
    return new LineReader(codec == null ? input : codec.createInputStream(input), configuration);
  }

  private static CompressionCodec codec(Path path, Configuration configuration) {
    return new CompressionCodecFactory(configuration).getCodec(path);
  }

  private static byte[] withoutMark(byte[] line) {
    int length = BYTE_ORDER_MARK.length;
    boolean marked =
        line.length >= length && Arrays.equals(line, 0, length, BYTE_ORDER_MARK, 0, length);
    return marked ? Arrays.copyOfRange(line, length, line.length) : line;
  }
}
