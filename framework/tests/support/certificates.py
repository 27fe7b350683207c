"""A certificate authority, and a server's certificate that it has signed, by OpenSSL."""

import subprocess


def create_certificates(folder, address="127.0.0.1"):
    """Create `ca.pem`, and `server.pem` with `server.key` for an address, which any user may read."""
    folder.mkdir(parents=True)
    new_key = ("-newkey", "rsa:2048", "-noenc")
    _openssl(folder, "req", "-x509", "-days", "2", "-subj", "/CN=Test CA", *new_key, "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip
    _openssl(folder, "req", "-subj", "/CN=server", *new_key, "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text(f"subjectAltName = IP:{address}\n")
    signed_by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
    _openssl(folder, "x509", "-req", "-days", "2", "-in", "server.csr", *signed_by, "-extfile", "names", "-out", "server.pem")  # fmt: skip
    for file in folder.iterdir():
        file.chmod(0o644)
    return folder


def _openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
