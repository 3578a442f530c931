#!/bin/bash
# Attack: a tag or a branch that is named like a commit's id or like a branch, so that who copies an id from the bot
# gets another commit.
cd "$(dirname "$0")/../.." || exit 1
. tests/t/lib.sh

export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
git init -q -b main "$dir/src"
printf 'bench:\n\techo %s >bench\n' x >"$dir/src/Makefile"
git -C "$dir/src" add -A; git -C "$dir/src" commit -q -m one; good=$(git -C "$dir/src" rev-parse HEAD)
git -C "$dir/src" commit -q --allow-empty -m two; bad=$(git -C "$dir/src" rev-parse HEAD)
url=$dir/src
local_config
sed -i "s/branches: .*/branches: ['*']/" "$dir/etc/kperfbot.yaml"
kp daemon --until-idle >"$dir/log" 2>&1
is_commit() { # REVISION COMMIT
	kp build "$1" --tree small --json >"$dir/build.json" 2>"$dir/out"
	is "$(field "$dir/build.json" 'o["commit"]' 2>>"$dir/out")" "$2" "${1:0:12} is ${2:0:12}"
}
is_commit "${bad:0:12}" "$bad"
git -C "$dir/src" tag "${bad:0:12}" "$good"
git -C "$dir/src" tag v1 "$good"
git -C "$dir/src" commit -q --allow-empty -m three
kp tree fetch small >"$dir/out" 2>&1; ok $? "fetched with the tag"
is "$(git --git-dir "$dir/state/trees/small.git" for-each-ref --format='%(refname:short)' refs/tags | xargs)" v1 \
	"which is not kept"
is_commit "${bad:0:12}" "$bad"
is_commit v1 "$good"
git -C "$dir/src" tag main "$good"; git -C "$dir/src" commit -q --allow-empty -m four
four=$(git -C "$dir/src" rev-parse HEAD)
kp tree fetch small >"$dir/out" 2>&1
sqlite3 "$dir/state/kperfbot.db" "DELETE FROM run; DELETE FROM build"
for name in main "main~1"; do
	kp build "$name" --tree small >"$dir/out" 2>&1; [ $? != 0 ]; ok $? "$name is refused"
	has "$dir/out" "is ambiguous, it means two commits"
	has "$dir/out" "$good"
done
is_commit "$bad" "$bad"
is_commit refs/heads/main "$four"
done_testing
