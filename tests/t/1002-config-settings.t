#!/bin/bash
# The tables of settings, the sample files, the manual and 'config show' agree: same names, same defaults.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

# every line "# key: value  # what" of the sample without its first #
mkdir "$dir/all" "$dir/none" "$dir/etc"
sed -E 's/^# ?( *("[^"]*"|[-a-z_.]+):( |$))/\1/' etc/kperfbot.yaml >"$dir/all/kperfbot.yaml"
is "$(grep -cE '^#  *[a-z_]+: ' "$dir/all/kperfbot.yaml")" 0 "all settings of the sample are switched on"
kp config check "$dir/all" >"$dir/out" 2>&1; ok $? "and there is no such that is not known"
kp config show "$dir/all" >"$dir/show"; ok $? "config show"
kp config show "$dir/all" --json >"$dir/json"; ok $? "in JSON"
kp config show "$dir/none" --json >"$dir/defaults"

cat >"$dir/compare.py" <<'EOF2'
import json, re, sys
shown, default = (json.load(open(f)) for f in sys.argv[1:3])
sample = set()
section = ""
for line in open(sys.argv[3]):
    m = re.match(r"( *)([a-z_]+):", line)
    if m and not m[1]:
        section = m[2]
        if line.split("#")[0].strip() != m[2] + ":":
            sample.add(m[2])
            section = ""
    elif m and len(m[1]) == 2 and section:
        sample.add(section + "." + m[2])
flat = lambda o: {k if s is o else n + "." + k: v for n, s in [("", o), ("judge", o["judge"]), ("mail", o["mail"])]
                  for k, v in s.items() if k not in ("folder", "machines", "trees", "judge", "mail", "reports")}
shown, default = flat(shown), flat(default)
print("only in the sample:", *sorted(sample - set(shown)))
print("only in the tables:", *sorted(set(shown) - sample))
print("another default:", *sorted(k for k in shown if shown[k] != default[k] and
      k not in ("state_dir", "cache_dir", "build_jobs")))  # of this user and machine
EOF2
/usr/bin/python3 "$dir/compare.py" "$dir/json" "$dir/defaults" "$dir/all/kperfbot.yaml" >"$dir/out" 2>&1
ok $? "the sample beside the tables"
is "$(sed -n 's/^only in the sample: *//p' "$dir/out")" "" "no setting of the sample is unknown"
is "$(sed -n 's/^only in the tables: *//p' "$dir/out")" "" "no setting is missing in the sample"
# those without a default of their own: 0 for what the box says, and examples
examples="build_disk_mb build_files build_memory_mb judge.min_effects mail.mbox mail.smtp_ca_file"
examples+=" mail.smtp_password_file mail.smtp_url mail.smtp_user"
is "$(sed -n 's/^another default: *//p' "$dir/out")" "$examples" "the sample's values are the defaults"
has "$dir/show" "smallest effect of vmstat.*: 0.01"

# what 'config show' says is a default, and what is set
cat >"$dir/etc/kperfbot.yaml" <<-END
	state_dir: $dir/state
	judge: {min_boots: 4}
	mail: {smtp_url: "smtp://mail.example.org"}
	machines:
	  m: {driver: qemu, memory_mb: 700, cpus: 2}
	trees:
	  k: {url: "https://example.org/k.git", interval: 90s}
	  p: {url: "https://example.org/p.git", program: true, artefact: a, trusted: true}
END
kp config show >"$dir/show"; ok $? "settings of a machine and two trees"
shown() { # NAME WANT: what stands behind the first such name after the line that begins with $3
	is "$(sed -n "/^$3/,\$s/^ *$1  *//p" "$dir/show" | head -n 1)" "$2" "$3: $1 $2"
}
shown state_dir "$dir/state" folder
shown build_slots "1  (default)" folder
shown min_boots 4 judge
shown max_boots "40  (default)" judge
shown mbox "$dir/state/reports.mbox  (default)" mail
shown smtp_url "smtp://mail.example.org" mail
shown memory_mb 700 "machine  *m "
shown cpus 2 "machine  *m "
shown append "none  (default)" "machine  *m "
shown tbox_group "m  (default)" "machine  *m "
shown interval 90s "tree  *k"
shown kconfig "vm-min  (default)" "tree  *k"
shown branches "*  (default)" "tree  *k"
shown kconfig "program  (default)" "tree  *p"
shown build_command "make  (default)" "tree  *p"
shown artefact a "tree  *p"
shown trusted true "tree  *p"
kp config show --json >"$dir/json"
is "$(field "$dir/json" 'o["trees"][1]["program"], o["trees"][0]["interval"], o["judge"]["min_boots"]')" \
	"(True, 90.0, 4)" "in JSON"
is "$(field "$dir/json" '[m["memory_mb"] for m in o["machines"] if m["name"] == "m"]')" "[700]" "a driver's own, too"

# all that is shown stands in the manual with its default, and 'tree add' asks for what it says
"$kperfbot" man >"$dir/man"
missing=
sed -nE 's/^( *)([a-z_]+) .*/\2/p' "$dir/show" | sort -u >"$dir/names"
while read -r s; do
	case $s in folder | judge | mail | machine | tree | smallest) continue ;; esac
	grep -qx "\.B $s" "$dir/man" || missing+=" $s"
done <"$dir/names"
is "$missing" "" "all settings stand in the manual"
kp tree add --help >"$dir/out"
has "$dir/out" "how often to look (default 5m)"
has "$dir/out" "branches to watch, as globs (repeatable; default *)"

printf 'trees: [a]\nmachines: x\n' >"$dir/etc/kperfbot.yaml"
kp config check >"$dir/out" 2>&1; is $? 2 "a list of trees is a mistake"
has "$dir/out" "kperfbot.yaml:1:"
has "$dir/out" "kperfbot.yaml:2:11: wants 'name:' lines"
done_testing
