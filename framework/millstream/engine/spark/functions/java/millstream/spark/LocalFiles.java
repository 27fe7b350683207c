package millstream.spark;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The files of this machine. Hadoop starts `chmod` and `readlink` for many of them; this asks Java
 * instead.
 */
public final class LocalFiles extends LocalFileSystem {
  private static final String MODE = "unix:mode";
  private static final boolean HAS_MODES =
      FileSystems.getDefault().supportedFileAttributeViews().contains("unix");

  public LocalFiles() {
    super(new WithoutChecksums());
  }

  /** The same without a checksum file next to each file. */
  static final class WithoutChecksums extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      if (HAS_MODES) {
        Files.setAttribute(pathToFile(path).toPath(), MODE, (int) permission.toShort());
      } else {
        super.setPermission(path, permission);
      }
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
      File file = pathToFile(path);
      return Files.isSymbolicLink(file.toPath())
          ? super.getFileLinkStatus(path)
          : getFileStatus(path);
    }
  }
}
