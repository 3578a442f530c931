#!/usr/bin/python3
"""make-bombs.py REPO - a bare git repository of a few hundred kilobytes whose commits stand for terabytes.

Each bomb is one commit on top of refs/heads/base, named refs/heads/NAME; "head" has them all in a line with an honest
commit at its end. Nothing large is ever unpacked here."""
import hashlib, os, subprocess, sys, zlib

sys.dont_write_bytecode = True  # nothing is left beside the sources
from gitpack import BLOB, REF_DELTA, entry, pack, varint, zeros_id

repo = sys.argv[1]
env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", GIT_DIR=repo)
WHO = b"A <a@example.org> 1700000000 +0000"


def git(*args, data=b""):
    done = subprocess.run(("git",) + args, input=data, env=env, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


def put(kind, data):
    return git("hash-object", "-w", "-t", kind, "--stdin", "--literally", data=data)


def tree(entries):
    data = b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(oid)) for mode, name, oid in entries)
    return put("tree", data)


def commit(files, parents, message=b"a commit\n", who=WHO):
    head = b"tree %s\n" % files.encode() + b"".join(b"parent %s\n" % p.encode() for p in parents)
    return put("commit", head + b"author %s\ncommitter %s\n\n%s" % (who, WHO, message))


git("init", "-q", "--bare", "-b", "main", repo)
blob = put("blob", b"int f(void)\n{\n\treturn 1;\n}\n")
blob2 = put("blob", b"int f(void)\n{\n\treturn 2;\n}\n")
plain = [(b"100644", b"f.c", blob)]
base = commit(tree(plain), [])
bombs = {}


def nested(levels, width, leaf):
    oid = leaf
    for _ in range(levels):
        oid = tree([(b"40000", b"d%03d" % i, oid) for i in range(width)])
    return oid


bombs["nested"] = nested(10, 10, tree([(b"100644", b"x.c", blob)]))
bombs["broad"] = nested(3, 100, tree([(b"100644", b"x%06d.c" % i, blob) for i in range(20000)]))
bombs["wide"] = tree([(b"100644", b"f%07d" % i, blob) for i in range(600000)])
bombs["deep"] = nested(3000, 1, tree(plain))
bombs["name"] = tree(plain + [(b"100644", b"n" * 100000, blob)])
bombs["blob"] = tree([(b"100644", b"MAINTAINERS", put("blob", bytes(100 << 20)))])
bombs["code"] = tree([(b"100644", b"f.c", put("blob", b"f(){\n" * (4 << 20)))])
commits = {n: commit(t, [base]) for n, t in bombs.items()}
files = tree(plain + [(b"100644", b"g.c", blob)])
commits["message"] = commit(files, [base], b"m" * (50 << 20))
commits["parents"] = commit(files, [base] * 100000)
commits["ident"] = commit(files, [base], who=b"A" * (4 << 20))
commits["no-end"] = commit(files, [base], who=b"A" * 200000 + b" <a@example.org")


# a file of four bytes that is a difference to one of 1.1 GiB
big = 1100 << 20
z = zlib.compressobj(1)
body = b"".join(z.compress(bytes(1 << 20)) for _ in range(big >> 20)) + z.flush()
delta = varint(big) + varint(4) + b"\x90\x04"
git("index-pack", "--stdin", data=pack(entry(BLOB, big, body),
                                       entry(REF_DELTA, len(delta), zeros_id(big) + zlib.compress(delta))))
small = hashlib.sha1(b"blob 4\0" + bytes(4)).hexdigest()
commits["delta"] = commit(tree([(b"100644", b"MAINTAINERS", small)]), [base])

# all of them one after the other as documentation of a kernel, whose paths are all looked at
def kernel(docs, source):
    x86 = tree([(b"40000", b"x86", tree([(b"100644", b"Makefile", blob)]))])
    marks = [(b"100644", b"Kbuild", blob), (b"100644", b"Kconfig", blob), (b"100644", b"MAINTAINERS", blob)]
    return tree([(b"40000", b"Documentation", docs)] + marks + [(b"40000", b"arch", x86), (b"100644", b"f.c", source),
                (b"40000", b"init", tree([(b"100644", b"main.c", blob)]))])


start = line = commit(kernel(tree(plain), blob), [base])
for name in sorted(bombs):
    line = commit(kernel(bombs[name], blob), [line], b"%s\n" % name.encode())
honest = commit(kernel(tree(plain), blob2), [line], b"an honest change\n")
commits["start"] = start
for name, oid in list(commits.items()) + [("base", base), ("head", honest), ("bombs", line)]:
    git("update-ref", "refs/heads/" + name, oid)
