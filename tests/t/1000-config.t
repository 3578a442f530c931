#!/bin/bash
# The configuration: every mistake has its place, defaults need no file.
cd "$(dirname "$0")/../.." || exit 1
kperfbot=${KPERFBOT:-build/kperfbot}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' "$dir/out"; fi; }
check() { "$kperfbot" config check "$dir/etc" >"$dir/out" 2>&1; }
has() { grep -qF -- "$1" "$dir/out"; ok $? "says: $1"; }

long=$(printf 'x%.0s' {1..65})
KPERFBOT_STATE="$dir/state" "$kperfbot" tree add "$long" https://example.org/x.git >"$dir/out" 2>&1; [ $? = 2 ]; ok $? "a tree's name has an end"
has "use at most 64 letters"
mkdir "$dir/etc"
check; ok $? "an empty folder is fine"
"$kperfbot" config check etc >"$dir/out" 2>&1; ok $? "the files in etc/ have no mistakes"
"$kperfbot" config show etc >"$dir/out" 2>&1
has "net-next https://git.kernel.org/pub/scm/linux/kernel/git/netdev/net-next.git (off)"

printf 'build_slot: 2\nbuild_jobs: many\njudge:\n  confidence: 1.5\n  alfa: 1\nmail:\n  smtp: maybe\n' >"$dir/etc/kperfbot.yaml"
printf 'trees:\n  bad name:\n    url: x\n  t:\n    branches: [a]\n    machine: nosuch\n  p:\n    url: x\n    program: true\n' >"$dir/etc/trees.yaml"
check; [ $? = 2 ]; ok $? "mistakes end with status 2"
has "kperfbot.yaml:1:1: unknown key 'build_slot', did you mean 'build_slots'?"
has "kperfbot.yaml:2:13: 'build_jobs': 'many' is not a whole number"
has "kperfbot.yaml:4:15: 'confidence' must lie between 0.5 and 0.999999, not 1.5"
has "kperfbot.yaml:5:3: unknown key 'alfa', did you mean 'alpha'?"
has "kperfbot.yaml:7:9: 'smtp' takes true or false, not 'maybe'"
has "trees.yaml:2:3: 'bad name' is no name for a tree"
has "trees.yaml:4:3: tree 't' needs a 'url'"
has "trees.yaml:6:14: tree 't': there is no machine 'nosuch'"
has "tree 'p' is a program: it needs an 'artefact'"

printf 'mail:\n  smtp_ulr: x\n  smtp: true\nreports:\n  mbox:\n    x: y\n  pigeon:\n    a: b\n' >"$dir/etc/kperfbot.yaml"
check; [ $? = 2 ]; ok $? "so do wrong settings of reporters"
has "kperfbot.yaml:2:3: unknown key 'smtp_ulr', did you mean 'smtp_url'?"
has "kperfbot.yaml:3:9: mail: 'smtp: true' needs an 'smtp_url'"
has "kperfbot.yaml:5:3: what is set of 'mbox' stands in the section 'mail'"
has "kperfbot.yaml:7:3: no reporter 'pigeon' has settings here"

printf 'judge:\n  min_effects:\n    monitors: 0.1\n    "vmstat.*": 5\n    "a.*": x\n    "b.*": [1]\n  min_effect: nan\n' >"$dir/etc/kperfbot.yaml"
check; [ $? = 2 ]; ok $? "so do wrong smallest effects"
has "kperfbot.yaml:3:5: 'monitors' is no class of metrics, did you mean 'monitor'?"
has "kperfbot.yaml:4:5: the smallest effect of 'vmstat.*' must lie between 1e-06 and 1 (0.01 is one per cent), not 5"
has "kperfbot.yaml:5:12: 'a.*': 'x' is not a number"
has "kperfbot.yaml:6:13: 'b.*' takes one number"
has "'min_effect' must lie between 1e-06 and 1, not nan"
mkdir "$dir/good"
printf 'judge:\n  min_effects: {"vmstat.*": 0.01, percent: 0.5}\n' >"$dir/good/kperfbot.yaml"
"$kperfbot" config show "$dir/good" >"$dir/out" 2>&1; ok $? "smallest effects by metric"
has "smallest effect of vmstat.*: 0.01"
has "smallest effect of percent: 0.5 points"

printf 'judge:\n\talpha: 1\n' >"$dir/etc/kperfbot.yaml"
rm "$dir/etc/trees.yaml"
check; [ $? = 2 ]; ok $? "a tab is no YAML"
has "kperfbot.yaml:2:"
printf 'machines:\n  m:\n    driver: quemu\n' >"$dir/etc/machines.yaml"; rm "$dir/etc/kperfbot.yaml"
check
has "machines.yaml:2:3: machine 'm' needs a 'driver', one of:"
printf 'machines:\n  qemu-icount:\n    driver: qemu-icount\n    canary: {job: stress-ng-sockfd-quick, commit: v6.1}\n  m:\n    driver: qemu\n    canary: {job: nosuch, commit: v6.1}\n' >"$dir/etc/machines.yaml"
check; [ $? = 2 ]; ok $? "canaries with mistakes"
has "machines.yaml:4:14: machine 'qemu-icount' is deterministic: it needs no canary"
has "machine 'm': canary: "

# files that nobody reads
mkdir "$dir/names"
check_names() { "$kperfbot" config check "$dir/names" >"$dir/out" 2>&1; }
names() { rm -rf "$dir/names"/*; for f; do echo 'trees:' >"$dir/names/$f"; done; check_names; }
names trees.yaml kperfbot.yaml machines.yaml trees.yaml~ trees.yaml.bak .trees.yml.swp README
ok $? "the right names, and what editors leave"
names trees.yml; [ $? = 2 ]; ok $? "trees.yml is a mistake"
has "/names/trees.yml: is not read: its name must be 'trees.yaml'"
names Trees.yaml tree.yaml machine.yml kperfbot.conf trees.json
for f in Trees.yaml tree.yaml trees.json; do has "/$f: is not read: its name must be 'trees.yaml'"; done
has "/machine.yml: is not read: its name must be 'machines.yaml'"
has "/kperfbot.conf: is not read: its name must be 'kperfbot.yaml'"
names my-trees.yaml; has "/my-trees.yaml: is not read, but holds 'trees:'"
names; mkdir "$dir/names/trees.d"; check_names; [ $? = 2 ]; ok $? "so is a folder"
rmdir "$dir/names/trees.d"; printf 'suite: command\n' >"$dir/names/bench.yml"; check_names
has "/bench.yml: is not read: the name of a job file ends in '.yaml'"
printf 'suite: command\nmonitors: []\n' >"$dir/names/tree-bench.yaml"; rm "$dir/names/bench.yml"
check_names; ok $? "a job file is none of ours"
"$kperfbot" --config "$dir/nosuch" query runs >"$dir/out" 2>&1; [ $? != 0 ]; ok $? "a missing folder is an error"
has "does not exist"
"$kperfbot" qery >"$dir/out" 2>&1; [ $? = 2 ]; ok $? "an unknown verb ends with 2"
has "did you mean 'query'?"
echo "1..$n"
