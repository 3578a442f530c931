#!/usr/bin/python3
"""hostile-git.py PORT - a git server on loopback that is up to no good; the path says how: /refs never ends its list of
branches, /many has 20,000, /expand sends a pack of some kilobytes that stands for 64 GiB, /flood one that never ends;
/stall... has a new head each time, and what it stands for never comes."""
import hashlib, itertools, re, socket, struct, sys, threading, time, zlib

sys.dont_write_bytecode = True  # nothing is left beside the sources
from gitpack import BLOB, REF_DELTA, entry, head, pack, varint, zeros_id

OID = b"1234567890123456789012345678901234567890"
heads = itertools.count(0x1234)


def pkt(data):
    return b"%04x" % (len(data) + 4) + data


def delta(source, target):
    step = min(source, 0xFFFFFF)
    ops = b"\xf0" + struct.pack("<I", step)[:3]
    n = target // step
    return varint(source) + varint(n * step) + ops * n


def expanding():
    sizes = [1 << 20, 1 << 28, 1 << 36]
    entries = [entry(BLOB, sizes[0], zlib.compress(bytes(sizes[0])))]
    for a, b in zip(sizes, sizes[1:]):
        d = delta(a, b)
        entries.append(entry(REF_DELTA, len(d), zeros_id(a) + zlib.compress(d)))
    return pack(*entries)


def flood(c):
    c.sendall(head(1000000))
    noise = hashlib.sha256(b"x").digest() * 32768
    z = zlib.compressobj(0)
    c.sendall(entry(BLOB, 1 << 40, b""))
    while True:
        c.sendall(z.compress(noise))


def serve(c):
    try:
        talk(c)
    except (OSError, ValueError):
        pass
    finally:
        c.close()


def stall(c):
    head = b"%040x" % next(heads)
    c.sendall(pkt(head + b" HEAD\0ofs-delta agent=x\n") + pkt(head + b" refs/heads/main\n") + b"0000")
    if c.recv(4, socket.MSG_WAITALL) not in (b"", b"0000"):
        time.sleep(600)


def talk(c):
    n = int(c.recv(4, socket.MSG_WAITALL), 16) - 4
    path = re.match(rb"git-upload-pack (\S*?)\0", c.recv(n, socket.MSG_WAITALL)).group(1).decode()
    if path.startswith("/stall"):
        return stall(c)
    c.sendall(pkt(OID + b" HEAD\0ofs-delta agent=x\n") + pkt(OID + b" refs/heads/main\n"))
    i = 0
    while path == "/refs":
        c.sendall(b"".join(pkt(OID + b" refs/heads/%s%09d\n" % (b"x" * 200, i + k)) for k in range(1000)))
        i += 1000
    if path == "/many":
        c.sendall(b"".join(pkt(OID + b" refs/heads/b%09d\n" % k) for k in range(20000)))
    c.sendall(b"0000")
    said = b""
    while b"done\n" not in said:
        data = c.recv(65536)
        if not data:
            return
        said += data
    c.sendall(pkt(b"NAK\n"))
    if path == "/expand":
        c.sendall(expanding())
    if path == "/flood":
        flood(c)


s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(8)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
