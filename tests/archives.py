"""Archives, packed in memory."""

import io
import tarfile
import zipfile


def packed(kind, files):
    """A zip, or a tar compressed by `kind`, of contents by name; a TarInfo is written alone."""
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return out.getvalue()
    with tarfile.open(fileobj=out, mode=f"w:{kind}") as archive:
        for name, content in files.items():
            alone = isinstance(content, tarfile.TarInfo)
            info = content if alone else tarfile.TarInfo()
            info.name = name
            info.size = 0 if alone else len(content)
            archive.addfile(info, io.BytesIO(b"" if alone else content))
    return out.getvalue()
