#!/bin/bash
# A case's script and the machine: every setting of a machine that measures gets into it (QEMU is started with the same
# words by both), and what is missing on the reader's machine is said at once, before anything is fetched or built.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
command -v qemu-system-x86_64 >/dev/null || skip_all "no qemu-system-x86_64"
[ "$(id -u)" = 0 ] || skip_all "jobs run as root"
export KPERFBOT_STATE=$dir/state GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
mkdir -p "$dir/etc" "$dir/state/trees" "$dir/build" "$dir/it's"
# notes its words, then is QEMU; what it is to boot is no kernel, so it ends soon
cat >"$dir/it's/qemu" <<-EOF
#!/bin/sh
printf '%s\n' "\$@" >"$dir/words"
exec timeout 5 qemu-system-x86_64 "\$@"
EOF
chmod +x "$dir/it's/qemu"
cat >"$dir/etc/kperfbot.yaml" <<-EOF
mail:
  mbox: $dir/box
  robot_address: bot@example.org
machines:
  counted:
    driver: qemu-icount
    tbox_group: counted
    memory_mb: 130
    icount_shift: 5
    qemu: "$dir/it's/qemu"
    append: "mitigations=off quiet"
    boot_timeout: 6s
    description: "made up"
  plain:
    driver: qemu
    cpus: 3
    memory_mb: 140
    qemu: "$dir/it's/qemu"
    append: "nosmt"
    boot_timeout: 6s
EOF
for name in counted plain; do
	kp machine show $name --json >"$dir/$name.json" 2>"$dir/out"; ok $? "machine show $name"
done
all=$(for name in counted plain; do
	field "$dir/$name.json" '"\n".join(list(o)[list(o).index("deterministic") + 1:])'
done | sort -u)
[ "$(echo "$all" | wc -l)" -ge 6 ]; ok $? "the settings of both drivers are in it"
untried=''
for key in $all; do grep -q "^    $key:" "$dir/etc/kperfbot.yaml" || untried="$untried $key"; done
is "$untried" "" "every setting is tried below: a new one must be in the script, or not measure"
git init -q -b main "$dir/src"
for i in 1 2; do git -C "$dir/src" commit -q --allow-empty -m "net: step $i"; done
good=$(git -C "$dir/src" rev-parse HEAD~1) bad=$(git -C "$dir/src" rev-parse HEAD)
git clone -q --bare "$dir/src" "$dir/state/trees/t.git"
head -c 70000 /dev/zero >"$dir/build/bzImage"
printf 'CONFIG_64BIT=y\nCONFIG_KERNEL_GZIP=y\nCONFIG_OBJTOOL=y\n' >"$dir/build/config"
kp daemon --until-idle >"$dir/out" 2>&1; ok $? "the machines are in the database"
"$kperfbot" job render stress-ng-sockfd-quick ops=2000 warmup=0 monitors=time,vmstat --json >"$dir/job.json"
/usr/bin/python3 - "$dir" "$good" "$bad" >"$dir/out" 2>&1 <<'PY'
import json, sqlite3, sys
where, good, bad = sys.argv[1:]
job = json.load(open(where + "/job.json"))[0]
d = sqlite3.connect(where + "/state/kperfbot.db")
d.execute("INSERT INTO tree(id, name, url, kind, settings) VALUES (1, 't', ?, 'kernel', '{}')", (where + "/src",))
d.execute("INSERT INTO job VALUES (?, ?, ?, ?, ?, ?)",
          (job["id"], job["name"], job["program"], job["canonical"], json.dumps(job["params"]), job["script"]))
d.execute("INSERT INTO metric VALUES (1, 'stress-ng.sockfd.ops_per_sec', 'ops', 1, 1)")
for i, oid in ((1, good), (2, bad)):
    d.execute("INSERT INTO build(id, tree, commit_oid, kconfig, state, time, image_path) VALUES (?, 1, ?, 'vm-min', 'ok', 1000000, ?)",
              (i, oid, where + "/build/bzImage"))
for i, name in ((1, "counted"), (2, "plain")):
    machine = d.execute("SELECT id FROM machine WHERE name = ?", (name,)).fetchone()[0]
    d.execute("INSERT INTO comparison(id, tree, branch, base, head, kconfig, job, machine, state, created) "
              "VALUES (?, 1, 'main', ?, ?, 'vm-min', ?, ?, 'different', 1000000)", (i, good, bad, job["id"], machine))
    for b in (1, 2):
        for j in range(3):
            run = d.execute("INSERT INTO run(build, job, machine, boot, replicate, verdict, started, seconds) "
                            "VALUES (?, ?, ?, ?, ?, 'ok', 1000000, 1)", (b, job["id"], machine, "b%d-%d-%d" % (i, b, j), j)).lastrowid
            d.execute("INSERT INTO value VALUES (?, 1, ?)", (run, 10000 + 100 * b + j))
    d.execute('INSERT INTO "case"(id, comparison, metric, state, confidence, effect, effect_lo, effect_hi, culprit, posterior, '
              "boots, builds, opened, changed) VALUES (?, ?, 1, 'found', 0.99, 0.01, 0.009, 0.011, ?, 0.999, 24, 3, 1000000, 2000000)",
              (i, i, bad))
d.commit()
PY
ok $? "a found case on each"

# Where the words differ by nature: QEMU's own sandbox is the robot's, and files have other names.
words() { grep -v -e '^-sandbox$' -e '^on,obsolete' "$dir/words" | sed 's/,path=.*//; s|^/.*|FILE|' | sort; }
echo true >"$dir/true.sh"
for i in 1:counted 2:plain; do
	case=${i%:*} name=${i#*:}
	kp report send "$case" >"$dir/out" 2>&1; ok $? "$name: its mail"
	script=$dir/state/cases/case-$case/reproduce.sh
	rm -f "$dir/words"
	kp machine boot "$name" --image "$dir/build/bzImage" --script "$dir/true.sh" --out "$dir/boot" >"$dir/out" 2>&1
	words >"$dir/robot"
	accel=$(sed -n '/^-accel$/{n;s/,.*//;p}' "$dir/words")
	rm -f "$dir/words"
	mkdir -p "$dir/work/root"
	cp "$dir/build/bzImage" "$dir/work/bzImage-parent"
	(cd "$dir/work" && KPB_ACCEL=$accel KPB_WORK=$dir/work sh "$script" run parent 1) >"$dir/out" 2>&1
	is $? 1 "$name: what is no kernel gives no results"
	words >"$dir/script"
	[ "$(wc -l <"$dir/robot")" -gt 20 ] && diff "$dir/robot" "$dir/script" >"$dir/log"
	ok $? "$name: the script starts QEMU with the robot's words"
	if command -v shellcheck >/dev/null; then
		shellcheck -s sh -e SC1090,SC2154,SC2034,SC2016,SC2209 "$script" >"$dir/log"
		ok $? "$name: shellcheck agrees"
	fi
done
grep -q '^140M$' "$dir/script" && grep -q ' nosmt$' "$dir/script"; ok $? "the machine's own numbers"
script=$dir/state/cases/case-1/reproduce.sh
(cd "$dir/work" && KPB_QEMU=qemu-none KPB_WORK=$dir/work sh "$script" run parent 1) >"$dir/out" 2>&1; is $? 1 "KPB_QEMU names another one"
has "$dir/out" "missing here: qemu-none"

# A machine with next to nothing: all of it at once, and nothing is begun.
mkdir "$dir/bin"
for p in sh sed sort tr cat grep gcc git make printf timeout base64 find; do ln -s "$(command -v $p)" "$dir/bin/$p"; done
printf '#!/bin/sh\n' >"$dir/bin/busybox"
printf '#!/bin/sh\n' >"$dir/bin/ldd" # whatever it is asked about needs libraries
chmod +x "$dir/bin/busybox" "$dir/bin/ldd"
sed 's|^\tPATH=\$PATH:/usr/sbin:/sbin$|\t:|' "$script" >"$dir/bare.sh"
(cd "$dir" && PATH=$dir/bin KPB_WORK=$dir/none sh "$dir/bare.sh") >"$dir/out" 2>&1; is $? 1 "programs are missing"
is "$(sed -n 's/^reproduce: missing here: //p' "$dir/out" | tr ' ' '\n' | sort | paste -sd ' ')" \
	"awk bc bison busybox cpio flex gzip ld perl stress-ng tar vmstat" "all of them are named, a busybox that needs libraries, too"
is "$(sed -n 's/^reproduce: on Debian: apt-get install //p' "$dir/out" | tr ' ' '\n' | grep . | sort | paste -sd ' ')" \
	"bc binutils bison busybox-static cpio flex gzip mawk perl procps stress-ng tar time" "with Debian's packages"
[ ! -e "$dir/none" ]; ok $? "before anything is fetched or built"
done_testing
