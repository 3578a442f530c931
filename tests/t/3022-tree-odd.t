#!/bin/bash
# Repositories of all kinds: what a checkout has and has not, authors in other encodings, tags and replaced commits.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

repo=$dir/up.git
url=file://$repo
git init -q --bare -b main "$repo"
/usr/bin/python3 - "$repo" <<'EOF'
import subprocess, sys

BENCH = """#!/bin/sh
n=$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
awk -v l=%d -v n=$n 'BEGIN { printf "ops_per_sec: %%.3f\\n", l * (1 + (n / 65535 - 0.5) * 0.01) }'
"""
MAKE = b"bench: bench.sh\n\tcp bench.sh bench\n\tchmod +x bench\n"
SUB = b"0123456789012345678901234567890123456789"
MODULES = b'[submodule "s"]\n\tpath = vendor/lib\n\turl = https://git.example.org/lib.git\n'
out, n = [], 0


def commit(branch, parents, files, who=b"Ann <ann@example.org>", message=b"change\n", header=b""):
    global n
    n += 1
    date = b" %d +0000\n" % (1700000000 + 3600 * n)
    out.append(b"" if parents else b"reset refs/heads/%s\n" % branch)
    out.append(b"commit refs/heads/%s\nmark :%d\nauthor %s%scommitter %s%s%sdata %d\n%s" %
               (branch, n, who, date, who, date, header, len(message), message))
    for i, p in enumerate(parents):
        out.append(b"%s :%d\n" % (b"merge" if i else b"from", p))
    for mode, path, text in files:
        if mode == b"160000":
            out.append(b"M 160000 %s %s\n" % (text, path))
        else:
            out.append(b"M %s inline %s\ndata %d\n%s\n" % (mode, path, len(text), text))
    return n


def bench(level):
    return (b"100755", b"bench.sh", (BENCH % level).encode())


def broken(branch, make, *files):
    commit(branch, [base], [(b"100644", b"Makefile", b"bench:\n" + make), *files])


base = commit(b"main", [], [(b"100644", b"Makefile", MAKE), bench(1000)])
whole = b"\n".join([
    b'\ttest "$$(wc -c <crlf.txt)" = 4', b'\ttest -x run.sh && ./run.sh', b'\ttest "$$(cat Case)$$(cat case)" = 12',
    b'\ttest "$$(readlink link)" = crlf.txt', b"\ttest -d vendor/lib", b"\ttest ! -e .git",
    b"\tgrep -q git-lfs big.bin", b"\tcp bench.sh bench", b""])
broken(b"all", whole, (b"100644", b".gitattributes", b"* text=auto eol=lf\n*.bin filter=lfs diff=lfs\n"),
       (b"100644", b"crlf.txt", b"a\r\n\n"), (b"100755", b"run.sh", b"#!/bin/sh\nexit 0\n"), (b"100644", b"Case", b"1"),
       (b"100644", b"case", b"2"), (b"120000", b"link", b"crlf.txt"), (b"120000", b"away", b"/etc/passwd"),
       (b"100644", b".gitmodules", MODULES), (b"160000", b"vendor/lib", SUB),
       (b"100644", b"big.bin", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"))
broken(b"submodule", b"\tcat vendor/lib/x >bench\n", (b"100644", b".gitmodules", MODULES),
       (b"160000", b"vendor/lib", SUB))
broken(b"namesake", b"\tcat vendor/library old-vendor/lib >bench\n", (b"100644", b".gitmodules", MODULES),
       (b"160000", b"vendor/lib", SUB))
broken(b"describe", b"\tgit describe --tags >version\n\tcp bench.sh bench\n")
broken(b"lfs", b"\tunzip -q big.bin\n", (b"100644", b".gitattributes", b"*.bin filter=lfs\n"),
       (b"100644", b"big.bin", b"x"))
other = commit(b"import", [], [(b"100644", b"imported/x", b"1")], message=b"a history of its own\n")
empty = commit(b"main", [base], [], message=b"empty\n")
joined = commit(b"main", [empty, other], [(b"100644", b"imported/x", b"1")], message=b"merge another history\n")
a, b, c = (commit(b"side-%d" % i, [joined], [(b"100644", b"side%d" % i, b"1")]) for i in range(3))
octopus = commit(b"main", [a, b, c], [(b"100644", b"side%d" % i, b"1") for i in range(3)], message=b"octopus\n")
slow = commit(b"main", [octopus], [bench(900)], b"J\xf6rg \xd6stlund <jorg@example.org>", b"Gr\xf6\xdfe: check it\n",
              b"encoding ISO-8859-1\n")
commit(b"main", [slow], [(b"100644", b"note", b"1")])
out.append(b"done\n")
subprocess.run(["git", "-C", sys.argv[1], "fast-import", "--quiet", "--done",
                "--export-marks=" + sys.argv[1] + "/marks"], input=b"".join(out), check=True)
ids = dict(line.split() for line in open(sys.argv[1] + "/marks"))
print("base=%s slow=%s" % (ids[":%d" % base], ids[":%d" % slow]), file=open(sys.argv[1] + "/ids", "w"))
EOF
. "$repo/ids"
head=$(git --git-dir "$repo" rev-parse main)
git --git-dir "$repo" tag v1 "$base"
git --git-dir "$repo" update-ref refs/heads/main "$base"
local_config
sed -i '/^mail:/a\  allow: ["*@example.org"]' "$dir/etc/kperfbot.yaml"
sed -i 's/jobs: .*/jobs: [bench]/' "$dir/etc/kperfbot.yaml"
cat >"$dir/etc/bench.yaml" <<'EOF'
suite: command
testcase: bench
category: benchmark
monitors: []
command:
  run: '"$KPB_ARTEFACT"'
  kpi: ops_per_sec
  better: higher
EOF
kp daemon --until-idle >"$dir/log" 2>&1; ok $? "a baseline"
git --git-dir "$repo" update-ref refs/heads/main "$head"
# whoever asks this repository's git gets the fast bench: what is measured are the ids' own files
git --git-dir "$repo" replace "$slow" "$base"
background bash -c "exec '$kperfbot' --config '$dir/etc' daemon >>'$dir/log' 2>&1"
wait_for 120 case_is reported; ok $? "the new commits are bisected"
kill -TERM "${pids[-1]}"; wait_for 25 bash -c "! kill -0 ${pids[-1]}"
is "$(case_field culprit)" "$slow" "through an empty commit, another history and an octopus"
/usr/bin/python3 - "$dir/mbox" >"$dir/out" <<'EOF'
import mailbox, sys
from email.header import decode_header, make_header
for m in mailbox.mbox(sys.argv[1]):
    raw = m.as_bytes()
    print("ascii headers", all(c < 128 for c in raw.split(b"\n\n")[0]))
    for h in ("to", "cc", "subject"):
        for v in m.get_all(h, []):
            print(h, str(make_header(decode_header(v))))
    for part in m.walk():
        if not part.is_multipart():
            print((part.get_payload(decode=True) or b"").decode("utf-8", "replace"))
EOF
has "$dir/out" "ascii headers True"
has "$dir/out" "Jörg Östlund <jorg@example.org>"
has "$dir/out" "Größe: check it"
kp case show 1 >"$dir/out" 2>&1; has "$dir/out" "Größe: check it"

git --git-dir "$repo" replace -d "$slow" >/dev/null
sed -i 's/branches: .*/branches: ["*"]/' "$dir/etc/kperfbot.yaml"
kp tree add small "$url" --branch '*' >"$dir/out" 2>&1
kp tree fetch small >"$dir/out" 2>&1; ok $? "all branches"
build() { kp build "refs/heads/$1" --tree small >"$dir/out" 2>&1; }
build all; ok $? "line ends, modes, links, names that differ in case, an empty folder for a submodule"
build submodule; [ $? != 0 ]; ok $? "a build that needs a submodule"
has "$dir/out" "cat: vendor/lib/x: No such file or directory (make: *** [Makefile:2: bench] Error 1);"
has "$dir/out" "; 'vendor/lib' is a submodule, and submodules are not fetched"
build namesake; [ $? != 0 ]; ok $? "a build that fails by a file whose name begins like a submodule's"
! grep -q submodule "$dir/out"; ok $? "is no matter of submodules"
build describe; [ $? != 0 ]; ok $? "a build that asks git"
has "$dir/out" "not a git repository"
has "$dir/out" "; it asked git, and a build sees no history"
build lfs; [ $? != 0 ]; ok $? "a build that needs a large file"
has "$dir/out" "; files of Git LFS are pointers here"

kp tree add tags "$url" --branch 'v*' --program --artefact bench --machine local >"$dir/out" 2>&1
has "$dir/out" "no branch of '$url' matches"
kp tree fetch tags >"$dir/out" 2>&1
kp tree list >"$dir/out" 2>&1; has "$dir/out" "no branch of the remote matches 'branches'; tags are not watched"
kp build v1 --tree small >"$dir/out" 2>&1; ok $? "a tag is a commit's name where one is asked for"
done_testing
