program_setup() {
	export KPB_ARTEFACT KPB_PERTURB
	[ "$repeat" -ge 1 ] || die "repeat must be 1 or more"
}

# run_command N: N times, until one fails
run_command() {
	rounds=$1
	while [ "$rounds" -gt 0 ]; do
		sh -c "$run" || return
		rounds=$((rounds - 1))
	done
}

program_warmup() {
	run_command "$warmup"
}

program_run() {
	if [ "$repeat" = 1 ]; then
		timed sh -c "$run"
	else # one process for all of them, so that time(1) sees the whole
		# shellcheck disable=SC2016
		timed sh -c 'n=$1; while [ "$n" -gt 0 ]; do sh -c "$2" || exit; n=$((n - 1)); done' sh "$repeat" "$run"
	fi
}

# The same as parse.c reads: "name: number" or "name=number" lines, the mean of equal names; "kpi" may stand for the first.
# All units come to their base (12.3 MB/s: 12300000), so that runs can be laid side by side.
program_kpis() {
	plain_text "$1/command" | awk -v want="$kpi" '
		function scaled(prefix, of_time) {
			if (prefix == "") return 1
			return (prefix in scale) && (scale[prefix] < 1) == of_time ? scale[prefix] : 0
		}
		# sets kind and factor; 0: not known
		function unit(u, per) {
			kind = u
			factor = 1
			if (u ~ /^(%|insns|cycles)$/) return
			if (match(u, /\/(s|secs?|seconds?)$/)) per = "/s"
			else if (match(u, /\/ops?$/)) per = "/op"
			else if (match(u, /(B|b|bit|bytes|p|pkt)ps$/)) { per = "/s"; RSTART += RLENGTH - 2 }
			else RSTART = length(u) + 1
			u = substr(u, 1, RSTART - 1)
			if (match(u, /(B|[Bb]ytes?)$/)) kind = "B"
			else if (match(u, /(ops?)$/)) kind = "op"
			else if (match(u, /(p|pkts?|packets)$/)) kind = "pkt"
			else if (match(u, /(b|bits?)$/)) kind = "b"
			else if (match(u, /Hz$/)) kind = "Hz"
			else if (match(u, /(s|secs?|seconds?)$/)) kind = "s"
			else { kind = ""; RSTART = length(u) + 1 }
			kind = kind per
			factor = scaled(substr(u, 1, RSTART - 1), kind ~ /^s/)
		}
		BEGIN {
			n = split("n 1e-9 nano 1e-9 u 1e-6 micro 1e-6 \302\265 1e-6 \316\274 1e-6 m 1e-3 milli 1e-3 " \
				"k 1e3 K 1e3 M 1e6 G 1e9 T 1e12 Ki 1024 Mi 1048576 Gi 1073741824 Ti 1099511627776", word, " ")
			for (i = 1; i < n; i += 2) scale[word[i]] = word[i + 1] + 0
		}
		match($0, /^[ \t]*[A-Za-z0-9_.%\/-]+[:=]/) {
			name = substr($0, 1, RLENGTH - 1); gsub(/[ \t]/, "", name)
			words = split(substr($0, RLENGTH + 1), word, " ")
			if (words < 1 || words > 2 || word[2] ~ /^[0-9]/) next
			v = word[1]
			if (tolower(v) ~ /^[-+]?(nan|inf|infinity)%?$/ && first == "") first = name
			if (name == want) asked = 1
			group = 0
			if (match(v, /^[-+]?[1-9][0-9]?[0-9]?((,|\047|_|\302\240|\342\200\257|\342\200\211)[0-9][0-9][0-9])+/))
				group = RLENGTH
			if (group) {
				rest = substr(v, group + 1); v = substr(v, 1, group)
				gsub(/[^-+0-9]/, "", v)
				v = v rest
			}
			if (!match(v, /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?/)) next
			behind = substr(v, RLENGTH + 1); v = substr(v, 1, RLENGTH) + 0
			unit(behind)
			if (behind != "" && (!factor || (words == 2 && kind != ""))) next
			if (behind != "") v *= factor
			if (words == 2) { unit(word[2]); v *= factor ? factor : 1; if (!factor) kind = word[2] }
			if (first == "") first = name
			if (!n_of[name]++) kind_of[name] = kind
			else if (kind_of[name] != kind) mixed[name] = 1
			sum[name] += v
		}
		END {
			from = !asked && want == "kpi" ? first : want
			if (n_of[from] && !mixed[from]) printf "command.%s %.10g\n", want, sum[from] / n_of[from]
		}'
}

program_teardown() {
	:
}
