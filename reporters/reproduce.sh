
# ---- from here on the text is the same for every case --------------------------------------------------------------

work=${KPB_WORK:-$PWD/kperfbot-case-$case_number}
src=$work/src

say() { printf 'reproduce: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# "PROGRAM or header", its Debian package, and the kernel option that wants it.
tools='
git git
make make
gcc gcc
ld binutils
flex flex
bison bison
bc bc
perl perl
awk mawk
cpio cpio
find findutils
tar tar
base64 coreutils
timeout coreutils
ldd libc-bin
busybox busybox-static
qemu-system-x86_64 qemu-system-x86
gelf.h libelf-dev OBJTOOL STACK_VALIDATION
openssl/evp.h libssl-dev SYSTEM_TRUSTED_KEYRING MODULE_SIG
gzip gzip KERNEL_GZIP
xz xz-utils KERNEL_XZ
zstd zstd KERNEL_ZSTD
lz4 lz4 KERNEL_LZ4
lzma xz-utils KERNEL_LZMA
bzip2 bzip2 KERNEL_BZIP2
lzop lzop KERNEL_LZO
depmod kmod MODULES
pahole pahole DEBUG_INFO_BTF
'
# What this kernel's configuration asks for.
configured_tools() {
	kernel_config | sed -n 's/^CONFIG_\([A-Z0-9_]*\)=y$/\1/p' | {
		options=" $(tr '\n' ' ')"
		echo "$tools" | while read -r tool package wanted; do
			: "$package"
			for option in $wanted; do
				case $options in *" $option "*) echo "$tool" ;; esac
			done
		done
	} | sort -u
}
is_here() {
	case $1 in
	*.h) ! command -v gcc >/dev/null 2>&1 || echo "#include <$1>" | gcc -E -o /dev/null - 2>/dev/null ;;
	/*) [ -e "$1" ] ;;
	# alone in the root file system: it must be the static one
	busybox) command -v busybox >/dev/null 2>&1 && ! ldd "$(command -v busybox)" >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}
# What the job compiles by itself.
own_programs() { job_script | sed -n 's/^.*need_own="\$need_own \(.*\) "$/\1/p' | tr '\n' ' '; }

# All that is missing, before anything takes time: check build, check run, check build run.
check() {
	PATH=$PATH:/usr/sbin:/sbin
	wanted=awk job_wanted='' missing='' install=''
	for step in "$@"; do
		case $step-$kind-$how in
		build-kernel-*) wanted="$wanted git make gcc ld flex bison bc perl $(configured_tools)" ;;
		build-*) wanted="$wanted git" ;;
		run-*-by_hand) ;;
		run-*) wanted="$wanted ${machine_programs:-}" job_wanted=$programs ;;
		esac
	done
	for tool in $wanted; do
		is_here "$tool" && continue
		missing="$missing $tool" install="$install $(echo "$tools" | sed -n "s|^$tool \([^ ]*\).*|\1|p")"
	done
	for tool in $job_wanted; do
		case " $(own_programs) " in *" $tool "*) continue ;; esac
		is_here "$tool" || missing="$missing $tool" install="$install $job_packages"
	done
	[ -n "$missing" ] || return 0
	say "missing here:$missing"
	case "$missing " in
	*" ${qemu-none} "*) [ "$qemu" = qemu-system-x86_64 ] || say "$qemu is the robot's own QEMU; KPB_QEMU=PROGRAM takes another one" ;;
	esac
	# shellcheck disable=SC2086 # words
	die "on Debian: apt-get install $(printf '%s\n' $install | sort -u | tr '\n' ' ')"
}
# The value of the KPI in a folder of results: the job's own script reads it.
kpi_value() {
	env RESULT_DIR="$1" KPB_NS_PER_INSN="$ns_per_insn" sh "$work/job.sh" kpis 2>/dev/null | awk -v want="$kpi" '$2 == want { print $1; exit }'
}
oid_of() { if [ "$1" = parent ]; then echo "$parent"; else echo "$culprit"; fi; }

fetch() {
	[ -d "$src" ] || git init -q "$src"
	for oid in $commits; do
		git -C "$src" cat-file -e "$oid^{commit}" 2>/dev/null && continue
		say "fetching $oid"
		# most servers give a single commit; others need the whole branch
		git -C "$src" fetch -q --depth=1 -- "$url" "$oid" 2>/dev/null ||
			git -C "$src" fetch -q -- "$url" "${branch:-refs/heads/*:refs/kperfbot/*}" ||
			die "cannot fetch from $url"
		git -C "$src" cat-file -e "$oid^{commit}" 2>/dev/null || die "$url no longer has commit $oid"
	done
	[ -z "$series_base" ] || make_series
}

# The commits of a patch series are in no repository: with the robot's committer and date git am makes the same ones.
make_series() {
	git -C "$src" cat-file -e "$culprit^{commit}" 2>/dev/null && return
	say "applying the patch series on $series_base"
	git -C "$src" am --abort 2>/dev/null || :
	git -C "$src" checkout -q --force --detach "$series_base"
	series | GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_COMMITTER_NAME=kperfbot \
		GIT_COMMITTER_EMAIL=kperfbot@localhost \
		GIT_COMMITTER_DATE="@$(git -C "$src" log -1 --format=%ct "$series_base") +0000" git -C "$src" am -q -k ||
		die "the patch series does not apply"
	git -C "$src" cat-file -e "$culprit^{commit}" 2>/dev/null ||
		die "the patches made $(git -C "$src" rev-parse HEAD), not $culprit"
}

build_program() {
	rm -rf "${work:?}/$1"
	git -C "$src" worktree prune
	git -C "$src" worktree add -q --force --detach "$work/$1" "$(oid_of "$1")"
	(cd "$work/$1" && eval "$build_command") >"$work/build-$1.log" 2>&1 ||
		die "$1 does not build: $(tail -n 1 "$work/build-$1.log")"
}

build_kernel() {
	git -C "$src" checkout -q --force --detach "$(oid_of "$1")"
	mkdir -p "$work/build"
	kernel_config >"$work/build/.config"
	kernel_make "$1" olddefconfig
	kernel_make "$1" bzImage
	rm -rf "$work/modules-$1"
	if grep -q '^CONFIG_MODULES=y' "$work/build/.config"; then
		kernel_make "$1" modules
		kernel_make "$1" -s modules_install INSTALL_MOD_PATH="$work/modules-$1" INSTALL_MOD_STRIP=1
	fi
	cp "$work/build/arch/x86/boot/bzImage" "$work/bzImage-$1"
}

kernel_make() { # SIDE TARGET...
	built=$1
	shift
	env LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=315532800 KBUILD_BUILD_USER=kperfbot KBUILD_BUILD_HOST=kperfbot \
		KBUILD_BUILD_VERSION=1 KBUILD_BUILD_TIMESTAMP="Tue Jan  1 00:00:00 UTC 1980" LOCALVERSION= \
		make -C "$src" O="$work/build" ARCH=x86_64 -j"$(nproc)" "$@" >"$work/build-$built.log" 2>&1 ||
		die "$built does not build: $(tail -n 1 "$work/build-$built.log")"
}

build() {
	mkdir -p "$work"
	job_script >"$work/job.sh" # for those who boot by hand
	fetch
	for side in parent culprit; do
		say "building the $side, $(oid_of "$side")"
		"build_$kind" "$side"
	done
}

# A root file system in memory, put together from this machine's own programs: busybox, what the job needs, its libraries.
make_root() {
	root=$work/root.new
	rm -rf "$root" "$work/root"
	mkdir -p "$root/bin" "$root/usr" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/run" "$root/etc" "$root/root" "$root/result"
	ln -s ../bin "$root/usr/bin"
	ln -s bin "$root/sbin"
	cp "$(command -v busybox)" "$root/bin/busybox"
	"$root/bin/busybox" --list | while read -r applet; do
		[ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
	done
	env RESULT_DIR="$work/own" KPB_ROBOT=1 sh "$work/job.sh" compile >/dev/null || die "the job's own programs do not compile"
	PATH=$PATH:/usr/sbin:/sbin:$work/own/bin
	for program in $programs; do
		case $program in
		/*) path=$program into=$program ;;
		*)
			is_here "$program" || die "missing program: $program (apt-get install $packages)"
			path=$(readlink -f "$(command -v "$program")") into=/bin/$program
			;;
		esac
		[ -e "$path" ] || die "missing file: $path (apt-get install $packages)"
		mkdir -p "$root${into%/*}"
		rm -f "$root$into"
		cp "$path" "$root$into"
		{ ldd "$path" 2>/dev/null || :; } | sed -n 's/^[^/]*\(\/[^ ]*\).*/\1/p' | while read -r library; do
			mkdir -p "$root${library%/*}"
			cp -L "$library" "$root$library"
		done
	done
	cat >"$root/init" <<'KPB_INIT'
#!/bin/busybox sh
export PATH=/bin RESULT_DIR=/result HOME=/tmp
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev 2>/dev/null
mount -t tmpfs none /tmp
mount -t tmpfs none /run
mkdir -p /dev/shm
KPB_PERTURB=$(cat /perturb)
export KPB_PERTURB KPB_ROBOT=1
sh /job.sh >/result/script.log 2>&1 </dev/null
echo $? >/result/status
stty -F /dev/ttyS1 raw 2>/dev/null
tar -C /result -cf - . | base64 >/dev/ttyS1
sync
reboot -f
KPB_INIT
	chmod 755 "$root/init"
	mv "$root" "$work/root"
}

run_vm() { # SIDE NUMBER RESULT_FOLDER
	[ -d "$work/root" ] || make_root
	cp "$work/job.sh" "$work/root/job.sh"
	echo "$2" >"$work/root/perturb"
	rm -rf "$work/root/lib/modules"
	if [ -d "$work/modules-$1/lib/modules" ]; then
		mkdir -p "$work/root/lib"
		cp -r "$work/modules-$1/lib/modules" "$work/root/lib/"
	fi
	# equal times, so that the guest sees the same bytes each time
	find "$work/root" -exec touch -h -d @0 {} +
	(cd "$work/root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0 --reproducible) >"$work/initrd"
	rm -f "$work/results"
	# the very arguments of the robot's machine; a broken kernel ends by itself, a hanging one after an hour
	accel=${KPB_ACCEL:-$(if [ -w /dev/kvm ]; then echo kvm; else echo tcg; fi)}
	case $accel in kvm) cpu=host ;; *) cpu=qemu64 ;; esac
	eval "set -- \"\$1\" \"\$3\" $qemu_arguments"
	side=$1 into=$2
	shift 2
	timeout 3600 "$qemu" "$@" -chardev "file,id=console,path=$into/console.log" \
		-chardev "file,id=results,path=$work/results" -serial chardev:console -serial chardev:results \
		-kernel "$work/bzImage-$side" -initrd "$work/initrd" -append "$kernel_arguments" ||
		die "QEMU failed; see $into/console.log$([ "$accel" != kvm ] || echo "; KPB_ACCEL=tcg does without KVM")"
	tr -d '\r' <"$work/results" | base64 -d 2>/dev/null | tar -C "$into" -xf - 2>/dev/null ||
		die "the $side gave no results; see $into/console.log"
	[ "$(cat "$into/status")" = 0 ] || die "the job failed in the $side: $(tail -n 1 "$into/script.log")"
}

run_here() { # SIDE NUMBER RESULT_FOLDER
	artefact_path=$work/$1
	[ -z "$artefact" ] || artefact_path=$work/$1/$artefact
	env RESULT_DIR="$3" KPB_ROBOT=1 KPB_PERTURB="$2" KPB_ARTEFACT="$artefact_path" sh "$work/job.sh" >"$work/job.log" 2>&1 ||
		die "the job failed for the $side: $(tail -n 1 "$work/job.log")"
}

run_one() { # SIDE NUMBER
	case $1 in parent | culprit) ;; *) die "'$1' is neither parent nor culprit" ;; esac
	into=$work/result/$1/$2
	rm -rf "$into"
	mkdir -p "$into"
	job_script >"$work/job.sh"
	if [ -n "$fails" ]; then
		if ("run_$how" "$1" "$2" "$into"); then echo works; else echo fails; fi >"$into/outcome"
		say "$1, run $2: $(cat "$into/outcome")"
		return
	fi
	"run_$how" "$1" "$2" "$into"
	value=$(kpi_value "$into")
	[ -n "$value" ] || die "$1, run $2: no $kpi came out; see $into"
	say "$1, run $2: $value $kpi"
}

# In turns, so that whatever drifts meets both alike: A B, B A, A B ...
run_all() {
	rm -rf "$work/result"
	i=1
	while [ "$i" -le "$boots" ]; do
		if [ $((i % 2)) = 1 ]; then order="parent culprit"; else order="culprit parent"; fi
		for side in $order; do
			run_one "$side" "$i"
		done
		i=$((i + 1))
	done
}

# Where whether it fails is the question; who ran it by hand has no outcome but what the results say.
outcome_of() {
	if [ -f "$1/outcome" ]; then cat "$1/outcome"
	elif [ -n "$(env RESULT_DIR="$1" sh "$work/job.sh" kpis 2>/dev/null)" ]; then echo works
	else echo fails; fi
}

compare_outcomes() {
	for side in parent culprit; do
		for dir in "$work/result/$side"/*/; do
			echo "$side $(outcome_of "$dir")"
		done
	done | awk '
		{ n[$1]++; f[$1] += $2 == "fails" }
		END {
			printf "parent   fails in %d of %d runs\n", f["parent"], n["parent"]
			printf "culprit  fails in %d of %d runs\n", f["culprit"], n["culprit"]
		}'
}

compare() {
	if [ -n "$fails" ]; then
		compare_outcomes
		return
	fi
	for side in parent culprit; do
		for dir in "$work/result/$side"/*/; do
			value=$(kpi_value "$dir")
			[ -n "$value" ] || die "no $kpi in $dir"
			printf '%s %s\n' "$side" "$value"
		done
	done | awk -v kpi="$kpi" -v expected="$expected" '
		{ d = $2 - mean[$1]; mean[$1] += d / ++n[$1]; m2[$1] += d * ($2 - mean[$1]) } # Welford
		function show(side) {
			printf("%-8s %.10g (sd %.3g, %d boots)\n", side, mean[side], sqrt(m2[side] / n[side]), n[side])
			return mean[side]
		}
		END {
			if (!n["parent"] || !n["culprit"]) { print "runs of both kernels are needed"; exit 1 }
			print kpi
			a = show("parent"); b = show("culprit")
			if (a) printf "change   %+.3f%% (reported: %s)\n", 100 * (b - a) / (a < 0 ? -a : a), expected
			else printf "change   from 0 to %g (reported: %s)\n", b, expected
		}'
}

case ${1:-all} in
build)
	check build
	build
	;;
run)
	check run
	run_one "${2:-}" "${3:-1}"
	;;
compare) compare ;;
all)
	check build run
	build
	if [ "$how" = by_hand ]; then
		say "boot $work/bzImage-parent and $work/bzImage-culprit in turns on your machine and run in each, as root:"
		say "  RESULT_DIR=$work/result/parent/1 sh $work/job.sh      (culprit, 2, 3 ... likewise)"
		say "then: sh $0 compare"
		exit 0
	fi
	rm -rf "$work/root"
	run_all
	compare
	;;
*) die "usage: sh $0 [all | build | run parent|culprit NUMBER | compare]" ;;
esac
