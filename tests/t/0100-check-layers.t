#!/bin/bash
# tools/check-layers holds on this tree, and finds each kind of thing that it is for when one is planted.
cd "$(dirname "$0")/../.." || exit 1
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }

mkdir "$T/src" && cp -r tools lib db jobs kernels bisect reporters bot "$T/src/" && cd "$T/src" && git init -q . || exit 1
tools/check-layers >"$T/out"
ok $? "the tree as it is"
sed 's/^/# /' "$T/out"

# wants TEXT NAME: the planted thing is found
wants() {
	tools/check-layers >"$T/out" 2>&1
	[ $? != 0 ] && grep -qF "$1" "$T/out"
	ok $? "$2"
	grep -qF "$1" "$T/out" || sed 's/^/# /' "$T/out"
}
# planted FILE LINE TEXT NAME: with a line more at the end of a file, or in a new one
planted() {
	[ ! -e "$1" ] || cp "$1" "$T/kept"
	printf '%b\n' "$2" >>"$1"
	wants "$3" "$4"
	if [ -e "$T/kept" ]; then mv "$T/kept" "$1"; else rm "$1"; fi
}
planted lib/unit.c '#include "jobs/job.h"' 'lib/ must not include jobs/job.h' "an include that goes up"
planted jobs/render.c '#include "db/store.h"' 'jobs/ must not include db/store.h' "one of a folder that it stands beside"
planted jobs/monitors/vmstat/parse.c '#include "kernels/tree.h"' 'jobs/ must not include kernels/tree.h' "from a folder within"
planted bot/engine/plan.c '#include "bot/cli/verb.h"' 'bot/engine/ must not include bot/cli/verb.h' "the engine and the command line"
planted bot/daemon.c '#include "bot/cli/verb.h"' 'bot/ must not include bot/cli/verb.h' "the daemon and the command line"
planted bot/engine/plan.c '#include "db/store-internal.h"' 'db/store-internal.h is private to db/' "another folder's private half"
planted bot/daemon.c '#include "bot/engine/case.h"' 'bot/engine/case.h is private to bot/engine/' "what the engine keeps to itself"
planted lib/base.h '#include "lib/fs.h"' 'headers in a circle:' "headers that include each other"
grep -q '^lib/.*headers in a circle: .*lib/base.h' "$T/out"
ok $? "and the way around is told"
printf '#include "reporters/mail.h"\n#include "reporters/recipients.h"\n' >>reporters/mail.c
printf '#include "reporters/mail.h"\n' >>reporters/recipients.c
wants 'files in a circle: reporters/' "files that call each other"
cp "$OLDPWD/reporters/mail.c" "$OLDPWD/reporters/recipients.c" reporters/
planted lib/unit.c '#include "unit.h"' '"unit.h" is no path from the top' "a path from elsewhere"
planted lib/odd.h '#ifndef KPB_ODD_H\n#endif' 'the header guard is to be KPB_LIB_ODD_H' "a guard of another name"
planted lib/odd-priv.h '#ifndef KPB_LIB_ODD_PRIV_H\n#endif' 'private headers end in -internal.h' "another suffix for private headers"
planted lib/unit.c 'struct strv {\n};' 'there is a strv in lib/base.h, too' "two structs of one name"
planted lib/unit.c 'int x = sqlite3_open();' 'SQL belongs into db/' "SQL"
planted lib/unit.c 'struct json_object *x = json_object_new_string("");' 'JSON goes out by' "JSON made elsewhere"
planted lib/unit.c 'const char *x = "bwrap";' 'foreign code runs in' "a second box"
planted bot/engine/report.c 'bool x = streq(way, "smtp");' 'only reporters/smtp.c knows "smtp"' "a reporter's name"
planted reporters/facts.c 'bool x = machine_driver("qemu-icount");' 'knows "qemu-icount"; ask its ops' "a driver's name"
echo '/* not sqlite3_open() */' >>lib/unit.c
tools/check-layers >"$T/out"
ok $? "a comment may name them"
sed -i 's/row("jobs", "lib generated")/row("jobs", "lib generated kernels")/' tools/check-layers
wants 'the line of jobs names kernels, which stands below it' "an arrow that could close a circle of folders"
cp "$OLDPWD/tools/check-layers" tools/
sed -i 's/row("kernels", "lib")/row("kernels", "lib db")/' tools/check-layers
wants 'kernels includes nothing of db: take the arrow away' "an arrow too many"
echo "1..$n"
