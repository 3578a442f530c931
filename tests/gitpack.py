"""gitpack.py - packs as git sends and stores them, for tests that write hostile ones; see gitformat-pack(5)."""
import hashlib, struct

BLOB, REF_DELTA = 3, 7  # kinds of objects


def head(objects):
    return b"PACK" + struct.pack(">II", 2, objects)


def entry(kind, size, body):
    """An object that says it has that many bytes when it is unpacked; body is the rest of it, as it is stored."""
    byte = kind << 4 | size & 15
    size >>= 4
    out = b""
    while size:
        out += bytes([byte | 128])
        byte, size = size & 127, size >> 7
    return out + bytes([byte]) + body


def varint(n):
    """A size as a difference has it."""
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def pack(*entries):
    data = head(len(entries)) + b"".join(entries)
    return data + hashlib.sha1(data).digest()


def zeros_id(size):
    """The id of a blob of that many zero bytes; whole MiB."""
    h = hashlib.sha1(b"blob %d\0" % size)
    for _ in range(size >> 20):
        h.update(bytes(1 << 20))
    return h.digest()
