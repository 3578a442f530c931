#!/bin/bash
# Job files on the command line: list, show, expand, render, and their mistakes.
cd "$(dirname "$0")/../.." || exit 1
K=${KPERFBOT:-build/kperfbot}
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }

"$K" job list --json >"$T/list" 2>"$T/err"
/usr/bin/python3 - "$T/list" <<'P'
import json, sys
jobs = {j["name"]: j for j in json.load(open(sys.argv[1]))}
assert jobs["stress-ng-sockfd"]["kpi"] == "stress-ng.sockfd.ops_per_sec"
assert all(j["error"] is None for j in jobs.values()), jobs
P
ok $? "job list --json has every job file, each loads"

"$K" job expand tests/fixtures/jobs/network.yaml --csv >"$T/csv"
[ "$(tail -n +2 "$T/csv" | wc -l)" = 6 ] && grep -q '^network-100%-sock-60s-seqpacket,' "$T/csv"
ok $? "job expand: three documents give six points"

"$K" job show stress-ng-sockfd testtime=2s --json | /usr/bin/python3 -c '
import json, sys
j, = json.load(sys.stdin)
assert j["params"]["testtime"] == "2s" and j["kpis"][0]["metric"] == "stress-ng.sockfd.ops_per_sec"
assert "stress-ng" in j["packages"] and "perf" in j["programs"]'
ok $? "job show --json with a value changed"

bad=0
for job in stress-ng-sockfd stress-ng-sockfd-quick stress-ng-sockfd-lkp neper-tcp_rr neper-tcp_stream neper-udp_rr neper-tcp_crr tests/fixtures/jobs/command.yaml; do
	"$K" job render "$job" >"$T/script" || bad=1
	for sh in sh dash bash "busybox sh"; do
		if command -v "${sh%% *}" >/dev/null; then $sh -n "$T/script" || bad=1; fi
	done
	if command -v shellcheck >/dev/null; then shellcheck "$T/script" || bad=1; fi
done
ok $bad "rendered scripts are clean in sh, dash, bash, busybox and shellcheck"

"$K" job render tests/fixtures/jobs/network.yaml >"$T/out" 2>"$T/err"
[ $? = 2 ] && [ ! -s "$T/out" ] && grep -q 'expands to 6 jobs' "$T/err"
ok $? "job render of a matrix asks for one point"

"$K" job render tests/fixtures/jobs/network.yaml test=sockfd type= >/dev/null 2>&1 &&
	"$K" job render stress-ng-sockfd-100%-sockfd-60s | grep -q '^test=sockfd$'
ok $? "one point by a value, or by its name"

printf 'suite: x\nstress-ng:\n  tets: sockfd\n' >"$T/bad.yaml"
"$K" job show "$T/bad.yaml" 2>"$T/err"
[ $? = 2 ] && grep -q "bad.yaml:3:3: unknown parameter of 'stress-ng': 'tets'; did you mean 'test'" "$T/err"
ok $? "a mistake is named with file, line, column and the nearest key"

"$K" job show no-such-job 2>"$T/err"
[ $? = 3 ]
ok $? "a job that is not there: exit code 3"

"$K" job list --dir "$T/nosuch" >/dev/null 2>"$T/err"
[ $? = 3 ] && grep -q "there is no folder" "$T/err"
ok $? "nor a folder of them"

# a value can not leave its quotes
printf "command:\n  run: |\n    echo \"ops: 5\" # '; touch %s/hit; '\n" "$T" >"$T/q.yaml"
"$K" job render "$T/q.yaml" monitors= >"$T/script" && RESULT_DIR=$T/r sh "$T/script" >/dev/null
[ $? = 0 ] && [ ! -e "$T/hit" ] && grep -qx 'ops: 5' "$T/r/command"
ok $? "quotes in a value stay in the value"
echo "1..$n"
