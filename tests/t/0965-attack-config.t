#!/bin/bash
# Attack: a tree's .config, which goes into reports and scripts byte for byte, with what terminals, shells and make run;
# and one that is changed after it was looked at. The "kernel" is a Makefile; the case around it is made of a program's,
# to need no boot.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh
need_box || skip_all "$no_box"
for p in flex bison bc perl; do command -v $p >/dev/null || skip_all "no $p"; done

export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
export KPERFBOT_STATE=$dir/state
mkdir -p "$dir/etc"
git init -q -b main "$dir/k"
printf '%s\n' '%:: ; @:' 'tinyconfig: ; @cat first >$(O)/.config' 'olddefconfig: ; @:' \
	'bzImage:' '	@mkdir -p $(O)/arch/x86/boot; echo x >$(O)/arch/x86/boot/bzImage' \
	'	@echo "0 T _etext" >$(O)/System.map; cat late >>$(O)/.config' \
	>"$dir/k/Makefile"
kernel() { # CONFIG LATER, with \n and the like
	printf %b "$1" >"$dir/k/first"
	printf %b "$2" >"$dir/k/late"
	git -C "$dir/k" add -A; git -C "$dir/k" commit -q --allow-empty -m "a kernel"
}
kernel 'CONFIG_64BIT=y\n' ''
kp tree add k "$dir/k" --branch main --off >/dev/null 2>&1
build() {
	rm -rf "$dir/cache/builds" "$dir/cache/objects"
	kp tree fetch k >/dev/null 2>&1
	kp build main --tree k --json >"$dir/build.json" 2>"$dir/out"
	[ -s "$dir/build.json" ] && field "$dir/build.json" 'o["state"]' 2>>"$dir/out"
	cat "$dir/build.json" >>"$dir/out"
}
is "$(build)" ok "a plain config"
text='CONFIG_CC_VERSION_TEXT="gcc (Debian 12.2.0-14+deb12u1) 12.2.0"\n'
kernel "CONFIG_64BIT=y\n${text}CONFIG_A=-1\nCONFIG_B=0xffff\n#\n# Menu (a) & b\n#\n" 'CONFIG_LATE=y\n'
is "$(build)" ok "one with a late option"
config=$(find "$dir/cache/builds" -name config)
has "$config" CONFIG_LATE=y
is "$(field "$dir/build.json" 'o["config_hash"]')" "$(sha256sum <"$config" | cut -d' ' -f1)" \
	"the hash is that of the file that is kept"
i=0
while IFS= read -r line; do
	i=$((i + 1))
	if [ $((i % 2)) = 0 ]; then kernel "CONFIG_64BIT=y\\n$line\\n" ''; else kernel 'CONFIG_64BIT=y\n' "$line\\n"; fi
	is "$(build)" broken "refused: $line"
	has "$dir/out" "its .config holds what no configuration tool writes"
	! grep -q $'\033' "$dir/out"; ok $? "and shown safely"
	is "$(find "$dir/cache/builds" -name config -o -name bzImage)" "" "nothing of it is kept"
done <<'EOT'
CONFIG_LOCALVERSION="$(shell touch ../pwned)"
# \033[2J\033]0;pwned\007
CONFIG_A=`id`
CONFIG_A=y;id
# comment \\
KPB_X=y
EOT
[ -z "$(find "$dir" -name pwned)" ]; ok $? "nothing was run"

# ---- what an older robot kept is not handed on ----
url=$dir/src
git init -q -b main "$dir/src"
printf 'bench: bench.sh\n\tcp bench.sh bench && chmod +x bench\n' >"$dir/src/Makefile"
for value in 1000 900; do
	printf '#!/bin/sh\necho "ops_per_sec: %s.$((KPB_PERTURB * 7 %% 5))"\n' $value >"$dir/src/bench.sh"
	git -C "$dir/src" add -A; git -C "$dir/src" commit -q -m "bench: $value"
done
unset KPERFBOT_STATE
local_config
kp bisect main~1 main --tree small >"$dir/out" 2>"$dir/log"; ok $? "a case"
for b in $(sqlite3 "$dir/state/kperfbot.db" "SELECT image_path FROM build WHERE kconfig = 'program'"); do
	chmod u+w "$(dirname "$b")"; printf 'CONFIG_64BIT=y\n# \033[2J\n' >"$(dirname "$b")/config"
done
rm -rf "$dir/state/cases"
sqlite3 "$dir/state/kperfbot.db" "UPDATE tree SET kind = 'kernel' WHERE name = 'small';
	DELETE FROM delivery; DELETE FROM report"
kp report send 1 >"$dir/out" 2>&1
! grep -rqa $'\033' "$dir/state/cases" "$dir/mbox"; ok $? "neither mail nor script has it"
kp case show 1 >"$dir/out" 2>&1
has "$dir/out" "report without a script"
for b in $(sqlite3 "$dir/state/kperfbot.db" "SELECT image_path FROM build WHERE kconfig = 'program'"); do
	printf 'CONFIG_64BIT=y\n# CONFIG_X is not set\n' >"$(dirname "$b")/config"
done
sqlite3 "$dir/state/kperfbot.db" "DELETE FROM delivery; DELETE FROM report"
kp report send 1 >"$dir/out" 2>&1; ok $? "a report with a plain one"
is "$(tail -n 1 "$dir/state/cases/case-1/config")" "# CONFIG_X is not set" "has it"
done_testing
