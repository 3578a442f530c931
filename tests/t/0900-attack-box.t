#!/bin/bash
# A tree whose build asks for all that a build must not have. It says "REACHED" for each power that it gets; powers that
# would hurt the host are asked for (opened for writing), not used. Once as root, once as a user with subordinate ids.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
need_box || skip_all "$no_box"

# ---- what it looks for ----
mkdir -p "$dir/tree" "$dir/etc" "$dir/srv"
echo "the smtp password" >"$dir/srv/password"
chmod 644 "$dir/srv/password"
port=$(free_port)
cat >"$dir/listen.py" <<'PY'
import socket, sys, time
a = socket.socket(socket.AF_UNIX); a.bind(sys.argv[1]); a.listen()
b = socket.socket(socket.AF_UNIX); b.bind("\0kperfbot-test-" + sys.argv[2]); b.listen()
c = socket.socket(); c.bind(("127.0.0.1", int(sys.argv[2]))); c.listen()
time.sleep(600)
PY
background /usr/bin/python3 "$dir/listen.py" "$dir/srv/socket" "$port"
wait_for 10 test -S "$dir/srv/socket"
chmod 777 "$dir/srv/socket"
sleep 600 &
victim=$!
pids+=($victim)
disown $victim

cat >"$dir/tree/attack.py" <<PY
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, f):
    try:
        if f() is not False: print("REACHED", name)
    except BaseException as e:
        print("held", name, type(e).__name__)
def writable(p):
    os.close(os.open(p, os.O_WRONLY))
def call(nr, *args):
    # a system call that looks at its arguments is had: what keeps it away says EPERM or ENOSYS, whatever they are
    if libc.syscall(nr, *args) < 0 and ctypes.get_errno() not in (errno.EFAULT, errno.EINVAL):
        raise OSError(ctypes.get_errno(), "")
for p in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/modprobe",
          "/proc/sys/vm/drop_caches", "/proc/sys/user/max_user_namespaces", "/sys/kernel/uevent_helper",
          "/sys/power/state", "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/kvm", "/usr/bin/env", "/etc/passwd",
          "/etc/ld.so.cache", "/proc/1/mem", "/proc/1/oom_score_adj"):
    tried("open for writing " + p, lambda: writable(p))
for p in ("/proc/1/environ", "/proc/kcore", "/etc/shadow", "/root", "/home", "$dir/srv/password", "$dir/srv",
          "$dir/state", "$dir/cache", "$root/Makefile", "/sys/fs/cgroup", "/sys/kernel", "/run", "/var/lib", "/boot",
          "/proc/1/root/etc", "/proc/1/cwd/etc"):
    tried("read " + p, lambda: os.listdir(p) if os.path.isdir(p) else open(p, "rb").read(1))
def connect(family, where):
    s = socket.socket(family); s.settimeout(2); s.connect(where)
tried("unix socket", lambda: connect(socket.AF_UNIX, "$dir/srv/socket"))
tried("abstract socket", lambda: connect(socket.AF_UNIX, "\0kperfbot-test-$port"))
tried("loopback of the host", lambda: connect(socket.AF_INET, ("127.0.0.1", $port)))
for f in ("AF_PACKET", "AF_VSOCK", "AF_ALG", "AF_BLUETOOTH", "AF_CAN", "AF_KEY", "AF_QIPCRTR", "AF_TIPC", "AF_RDS"):
    kind = socket.SOCK_RAW if f == "AF_PACKET" else socket.SOCK_DGRAM
    if hasattr(socket, f): tried(f, lambda: socket.socket(getattr(socket, f), kind))
tried("kill a process of the host", lambda: os.kill($victim, 0))
tried("see a process of the host", lambda: any(b"sleep" in open("/proc/%s/cmdline" % p, "rb").read()
      for p in os.listdir("/proc") if p.isdigit()))
tried("new user namespace", lambda: call(272, 0x10000000))
tried("new mount namespace", lambda: call(272, 0x20000))
tried("clone into a user namespace", lambda: call(56, 0x10000011, 0, 0, 0, 0))
tried("clone3", lambda: call(435, 0, 88))
tried("mount", lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, 0))
tried("chroot", lambda: os.chroot("/tmp"))
tried("keyctl", lambda: call(250, 0, -3, 1))
tried("bpf", lambda: call(321, 0, 0, 0))
tried("perf_event_open", lambda: call(298, 0, 0, -1, -1, 0))
tried("io_uring", lambda: call(425, 8, ctypes.create_string_buffer(120)))
tried("userfaultfd", lambda: call(323, 1))
tried("kexec", lambda: call(246, 0, 0, 0, 0))
tried("reboot", lambda: call(169, 0xfee1dead, 672274793, 0, 0))
tried("add_key", lambda: call(248, b"user", b"a", b"b", 1, -3))
tried("syslog", lambda: call(103, 3, ctypes.create_string_buffer(100), 100))
tried("setuid 0", lambda: os.setuid(0))
tried("setgid 0", lambda: os.setgid(0))
tried("setgroups", lambda: os.setgroups([0]))
tried("mknod", lambda: os.mknod("/tmp/dev", 0o60666, os.makedev(254, 0)))
tried("capabilities", lambda: any(l.split()[0] in ("CapEff:", "CapPrm:", "CapBnd:", "CapAmb:") and int(l.split()[1], 16)
      for l in open("/proc/self/status")))
tried("new privileges", lambda: not any(l.split() == ["NoNewPrivs:", "1"] for l in open("/proc/self/status")))
tried("no filter", lambda: not any(l.split() == ["Seccomp:", "2"] for l in open("/proc/self/status")))
tried("uid of root", lambda: os.getuid() == 0 or os.geteuid() == 0)
tried("a terminal", lambda: os.open("/dev/tty", os.O_RDWR))
tried("descriptors", lambda: any(int(f) > 2 and os.path.exists("/proc/self/fd/" + f)
      and not os.readlink("/proc/self/fd/" + f).startswith(("/proc/", "pipe:")) for f in os.listdir("/proc/self/fd")))
tried("a .git", lambda: os.path.lexists(".git"))
tried("the environment", lambda: "KPERFBOT_TEST_SECRET" in os.environ)
tried("suid on what is mounted", lambda: not all("nosuid" in l.split()[5].split(",")
      for l in open("/proc/self/mountinfo")))
print("ASKED")
PY
cat >"$dir/tree/Makefile" <<'MK'
prog: attack.py
	/usr/bin/python3 -W ignore attack.py >prog 2>&1
	cp /bin/sh set && chmod 6755 set
MK
git -C "$dir/tree" init -q -b main
git -C "$dir/tree" add -A
git -C "$dir/tree" -c user.name=A -c user.email=a@example.org commit -q -m attack
git clone -q --bare "$dir/tree" "$dir/tree.git"

attack() { # STATE URL WORDS...: builds and shows what it got, by the rest of the words as a prefix
	local state=$1 url=$2
	shift 2
	export KPERFBOT_TEST_SECRET=1
	"$@" "$kperfbot" --state "$state" tree add hostile "file://$url" --program --artefact prog --machine local \
		>>"$dir/log" 2>&1
	"$@" "$kperfbot" --state "$state" tree fetch hostile >>"$dir/log" 2>&1
	"$@" "$kperfbot" --state "$state" build main --tree hostile --json >"$dir/out" 2>>"$dir/log"
	image=$(field "$dir/out" 'o["image"]')
	[ -f "$image" ] && cp "$image" "$dir/seen" || : >"$dir/seen"
}
mkdir -p "$dir/state" "$dir/cache"
attack "$dir/state" "$dir/tree.git"
is "$(tail -n 1 "$dir/seen")" ASKED "the build has asked for everything"
is "$(grep REACHED "$dir/seen")" "" "and got nothing of it"
held=$(grep -c held "$dir/seen")
[ "$held" -ge 40 ]; ok $? "$held powers were refused"

# what a build leaves keeps no privilege: set-id bits go on the way out
git -C "$dir/tree" mv Makefile Makefile.old
cat >"$dir/tree/Makefile" <<'MK'
prog:
	mkdir prog && cp /bin/sh prog/set && chmod 6755 prog/set && mkdir -m 7777 prog/d && ln -s set prog/near
MK
git -C "$dir/tree" add -A
git -C "$dir/tree" -c user.name=A -c user.email=a@example.org commit -q -m set-id
git -C "$dir/tree" push -q "$dir/tree.git" main
attack "$dir/state" "$dir/tree.git"
is "$(stat -c %a "$image/set" "$image/d" | tr '\n' ' ')" "755 755 " "nothing that comes out is set-id"
is "$(readlink "$image/near")" set "a link that stays inside is kept"
rm "$dir/tree/Makefile"; git -C "$dir/tree" mv Makefile.old Makefile
git -C "$dir/tree" -c user.name=A -c user.email=a@example.org commit -q -a -m attack
git -C "$dir/tree" push -q "$dir/tree.git" main

# ---- the same as a user who has subordinate ids; one who has none builds nothing ----
if [ "$(id -u)" != 0 ]; then
	skip "the other kind of user: needs root"
	done_testing
	exit
fi
mkdir -p "$dir/user/cache" "$dir/fake"
cp /etc/passwd "$dir/fake/passwd"
echo "attacked:x:54321:54321::$dir/user:/bin/sh" >>"$dir/fake/passwd"
cp /etc/group "$dir/fake/group"
echo "attacked:x:54321:" >>"$dir/fake/group"
echo "attacked:700000:65536" >"$dir/fake/ids"
: >"$dir/fake/none"
chmod 711 "$dir"
as_user() { # IDS COMMAND...: as that user, with that file for /etc/subuid and /etc/subgid
	local ids=$1
	shift
	unshare -m sh -c 'f=$1 ids=$2; shift 2
		mount --make-rprivate / && mount --bind $f/passwd /etc/passwd && mount --bind $f/group /etc/group &&
		mount --bind $ids /etc/subuid && mount --bind $ids /etc/subgid &&
		exec setpriv --reuid 54321 --regid 54321 --clear-groups "$@"' sh "$dir/fake" "$ids" \
		env HOME="$dir/user" KPERFBOT_CACHE="$dir/user/cache" "$@"
}
git clone -q --bare "$dir/tree" "$dir/user/tree.git"
chown -R 54321:54321 "$dir/user"
attack "$dir/user/state" "$dir/user/tree.git" as_user "$dir/fake/ids"
is "$(tail -n 1 "$dir/seen")" ASKED "a user with subordinate ids: the build has asked for everything"
is "$(grep REACHED "$dir/seen")" "" "and got nothing of it"
find "$dir/user/state/worktrees" -uid 54321 -name attack.py 2>/dev/null | grep -q .
is $? 1 "nothing of the tree lies there under the user's own uid"
as_user "$dir/fake/none" "$kperfbot" --state "$dir/user/state" box check >"$dir/out" 2>&1
is $? 1 "a user without is told"
has "$dir/out" "builds need a uid of their own"
has "$dir/out" "usermod --add-subuids"
rm -rf "$dir/user/cache/builds"
as_user "$dir/fake/none" "$kperfbot" --state "$dir/user/state" build main --tree hostile >"$dir/out" 2>&1
is $? 1 "and builds nothing"
has "$dir/out" "builds need a uid of their own"
mkdir -p "$dir/etc"
echo "sandbox: none" >"$dir/etc/kperfbot.yaml"
as_user "$dir/fake/none" "$kperfbot" --config "$dir/etc" --state "$dir/user/state" build main --tree hostile \
	>"$dir/out" 2>&1
has "$dir/out" "not isolated"
# no bubblewrap: the same
mkdir "$dir/bin"
for p in git tar setpriv sh make gcc du rm; do ln -s "$(command -v $p)" "$dir/bin/$p"; done
PATH=$dir/bin "$kperfbot" --state "$dir/state" box check >"$dir/out" 2>&1
is $? 1 "without bubblewrap nothing is built either"
has "$dir/out" "'bwrap' is missing; install the package 'bubblewrap'"
done_testing
