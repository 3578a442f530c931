#!/bin/bash
# Every fuzzer over its stored inputs, built like the program itself (with sanitizers where that has them).
cd "$(dirname "$0")/../.." || exit 1
K=${KPERFBOT:-build/kperfbot}
B=$(dirname "$K")
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
n=0
pkgs=$(sed -n 's/^PKGS := //p' Makefile)
export KPERFBOT_DATA=$PWD
for source in tests/fuzz/fuzz-*.c; do
	name=$(basename "$source" .c)
	n=$((n + 1))
	# shellcheck disable=SC2046,SC2086
	if $(cat "$B/flags") -std=gnu11 -I. $(pkg-config --cflags $pkgs) -o "$T/$name" "$source" tests/fuzz/replay.c \
		"$B/libkperfbot.a" $(pkg-config --libs $pkgs) -lRmath -lm 2>"$T/log" && "$T/$name" >"$T/log" 2>&1; then
		echo "ok $n - $name: $(grep -c '^ok' "$T/log") inputs"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$T/log"
	fi
done
echo "1..$n"
