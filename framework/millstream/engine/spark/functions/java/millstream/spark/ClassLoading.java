package millstream.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads the classes that another JVM loads or has loaded, so that they are in this one's archive.
 */
public final class ClassLoading {
  private static final long QUIET = 5_000_000_000L;
  private static final long POLL = 100;

  private ClassLoading() {}

  /**
   * Loads up to so many classes of a file, but ends with an error if there are fewer than the
   * least. With a fourth argument, the other JVM is still writing the file, until none has been
   * added for a while.
   */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    int least = Integer.parseInt(arguments[0]);
    int most = Integer.parseInt(arguments[1]);
    boolean grows = arguments.length > 3;
    int read = 0;
    // The names are bytes of Java's own encoding: those that are not ASCII are left out.
    try (BufferedReader lines =
        Files.newBufferedReader(Path.of(arguments[2]), StandardCharsets.ISO_8859_1)) {
      long last = System.nanoTime();
      while (read < most) {
        String line = lines.readLine();
        if (line == null) {
          if (!grows || System.nanoTime() - last > QUIET) {
            break;
          }
          Thread.sleep(POLL);
        } else {
          last = System.nanoTime();
          if (!line.startsWith("#") && !line.startsWith("@")) {
            load(line);
            read++;
          }
        }
      }
    }
    if (read < least) {
      throw new IllegalStateException("only " + read + " classes");
    }
  }

  /** Loads the class of a line of {@code -XX:DumpLoadedClassList}. */
  private static void load(String line) {
    String name = line.split(" ", 2)[0].replace('/', '.');
    try {
      Class.forName(name, false, ClassLoader.getSystemClassLoader());
    } catch (ClassNotFoundException | LinkageError | SecurityException e) {
      // Made by the other JVM while it ran, or loaded in another way: the archive does without it.
    }
  }
}
