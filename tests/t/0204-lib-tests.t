#!/bin/sh
# Each file of lib/ is named by a unit test of its own.
cd "$(dirname "$0")/../.." || exit 1
n=0
for header in lib/*.h; do
	n=$((n + 1))
	case $header in lib/version.h) echo "ok $n - $header: 1010-help.t" && continue ;; esac
	grep -q "^#include \"$header\"" tests/unit/test-*.c || printf 'not '
	echo "ok $n - $header"
done
echo "1..$n"
