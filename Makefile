# kperfbot - type "make help"
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
CC ?= gcc
PKGS := libgit2 libcurl sqlite3 json-c yaml-0.1 libsystemd libzstd smartcols libcrypto libseccomp libarchive libpcre2-8

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow=local -Wno-missing-field-initializers -Wpointer-arith -Wvla -Wstrict-prototypes
ifdef DEVELOPER
WARN += -Werror
endif
ifdef SANITIZE
BUILD := build-san
CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif
ifndef V
Q := @
say = @printf '  %-7s %s\n' "$(1)" "$(2)"
endif

LAYERS := lib db jobs kernels bisect reporters bot/config bot/engine bot bot/cli
SRC := $(wildcard $(addsuffix /*.c,$(LAYERS)) jobs/programs/*/*.c jobs/monitors/*/*.c)
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIBOBJ := $(filter-out $(BUILD)/bot/cli/main.o,$(OBJ))
UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c))

# pkg-config is asked when something is compiled, so that "make deps" works before the libraries are there
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS = $(shell pkg-config --libs $(PKGS)) -lRmath -lm
CPPFLAGS += -I. -I$(BUILD) -D_GNU_SOURCE -DMATHLIB_STANDALONE -DKPB_DATADIR='"$(PREFIX)/share/kperfbot"'

all: $(BUILD)/kperfbot $(BUILD)/agent

.PHONY: all help deps
.DELETE_ON_ERROR:

help:
	@grep -E '^#: ' $(MAKEFILE_LIST) | sed 's/^#: /  make /'

$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CC) $(CFLAGS) $(WARN) $(CPPFLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(WARN) $(CPPFLAGS) $(LDFLAGS)' >$@
.PHONY: FORCE

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(PKG_CFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<

# the version stands in one place
$(BUILD)/lib/version.o: VERSION
$(BUILD)/lib/version.o: CPPFLAGS += -DKPB_VERSION='"$(shell cat VERSION)"'

# Programs and monitors: each folder with a parse.c is a row. JOB_MONITOR(perf_stat, "perf-stat") stands for
# monitor_perf_stat in jobs/monitors/perf-stat/.
job_rows = $(foreach d,$(sort $(patsubst jobs/$(1)/%/parse.c,%,$(wildcard jobs/$(1)/*/parse.c))),'$(2)($(subst -,_,$(d)), "$(d)")')
JOB_LIST := $(BUILD)/generated/job-list.h
$(JOB_LIST): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call job_rows,programs,JOB_PROGRAM) $(call job_rows,monitors,JOB_MONITOR) >$@.new
	@cmp -s $@.new $@ || cp $@.new $@
$(BUILD)/jobs/program.o $(BUILD)/bisect/compare-class.o: $(JOB_LIST)

# the schema is compiled in (.incbin), which the compiler does not report
$(BUILD)/db/schema.o: db/schema.sql

$(BUILD)/libkperfbot.a: $(LIBOBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(LIBOBJ)

$(BUILD)/kperfbot: $(BUILD)/bot/cli/main.o $(BUILD)/libkperfbot.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

# the guest agent: static, nothing but libc
$(BUILD)/agent: $(wildcard jobs/agent/*.c)
	$(call say,AGENT,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -Os -static $(WARN) -o $@ $^

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libkperfbot.a tests/tap.h
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(PKG_CFLAGS) $(CFLAGS) $(WARN) $(LDFLAGS) -o $@ $< $(BUILD)/libkperfbot.a $(PKG_LIBS)

unit: $(UNIT)
	prove $(UNIT)
.PHONY: unit

-include $(OBJ:.o=.d)

# ---- targets for people (make help prints the "#:" lines) ----
#: demo            a real kernel regression found and mailed, on this machine (SEED=n, JOB=name, FRESH=1, LOCAL=1, JSON=1; V=1: its commands)
#: check           install what the tests need, build, run all tests
#: check-sanitize  the unit tests and the quick shell tests under ASan and UBSan
#: deps            only install what is missing from Debian (as root, or with sudo)
#: all             build build/kperfbot and the guest agent
#: unit            only the C unit tests
#: test-kernel-debian, test-kernel-vm-min, test-kernel-vm-net, test-guest: what tests boot, each made once
#: bench           measure ourselves; docs/BENCHMARKS.md holds what came out
#: bench-judge     only the judge's table
#: check-layers    who may include whom, no circles, one name for one thing (tools/check-layers has the table)
#: fuzz            each fuzzer for FUZZ_SECONDS (needs clang)
#: man             the manual page, docs/kperfbot.1
#: install         into DESTDIR and PREFIX
#: clean           remove build folders
#: knobs: DEVELOPER=1 (warnings are errors)  SANITIZE=1 (ASan, UBSan, leaks)  V=1 (show commands)

DEPS_BUILD := gcc make pkg-config libgit2-dev libcurl4-openssl-dev libsqlite3-dev libjson-c-dev libyaml-dev \
	libsystemd-dev r-mathlib libzstd-dev libsmartcols-dev libssl-dev libseccomp-dev libarchive-dev libpcre2-dev uthash-dev
DEPS_RUN := git qemu-system-x86 stress-ng linux-perf bubblewrap uidmap busybox-static iproute2 ethtool time zstd lz4 \
	cpio xz-utils flex bison bc libelf-dev linux-source-6.1 perl patch kmod procps pahole xdp-tools sockperf
DEPS_TEST := iperf3 qperf python3 python3-aiosmtpd python3-scipy sqlite3 shellcheck openssl mmdebstrap e2fsprogs

deps:
	@tools/install-packages $(DEPS_BUILD) $(DEPS_RUN)
deps-check: deps
	@tools/install-packages $(DEPS_TEST)
.PHONY: deps-check

SEED ?= 1
demo: deps
	@$(MAKE) --no-print-directory all
	@KPERFBOT=$(BUILD)/kperfbot tools/demo --seed $(SEED) $(if $(JOB),--job $(JOB)) $(if $(FRESH),--fresh) \
		$(if $(LOCAL),--local) $(if $(JSON),--json) $(if $(V),--verbose)
.PHONY: demo

TESTS := $(sort $(wildcard tests/t/*.t))
# Two tests at a time: those that build kernels, one after the other, beside all others, which mostly wait.
check:
	@tests/about $(UNIT)
	@$(MAKE) --no-print-directory deps-check
	@$(MAKE) --no-print-directory all $(UNIT) check-layers
	prove --timer -j2 --rules='seq=tests/t/{5000,6150,6210,8000}-*' --rules='seq=**' $(UNIT) $(TESTS)
# The unit tests and the shell tests that take a few seconds, with what finds wrong accesses, leaks and undefined behaviour.
check-sanitize: deps-check
	@$(MAKE) --no-print-directory SANITIZE=1 check-quick
check-quick: all $(UNIT)
	KPERFBOT=$(BUILD)/kperfbot prove --timer -j2 $(UNIT) $$(tests/about --quick 8)
.PHONY: check-sanitize check-quick
.PHONY: check

# What tests boot, made once and by name in build/test-kernel (or KPB_TEST_CACHE); a test that needs one asks for it.
KEEP = $(abspath $(or $(KPB_TEST_CACHE),build/test-kernel))
test-kernel-debian:
	@tests/kernels/debian.sh $(KEEP)/debian-kernel
test-kernel-vm-min test-kernel-vm-net:
	@tests/kernels/vm.sh $(@:test-kernel-%=%) $(KEEP)/$(@:test-kernel-%=%)
test-guest:
	@tests/guest/guest.sh $(KEEP)/debian-guest
.PHONY: test-kernel-debian test-kernel-vm-min test-kernel-vm-net test-guest

check-layers:
	@tools/check-layers
.PHONY: check-layers

BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
$(BUILD)/tests/bench/%: tests/bench/%.c $(BUILD)/libkperfbot.a
	$(call say,BENCH,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) $(PKG_CFLAGS) $(CFLAGS) $(WARN) $(LDFLAGS) -o $@ $< $(BUILD)/libkperfbot.a $(PKG_LIBS)
bench: all $(BENCHES)
	@tests/bench/run $(BUILD)
bench-judge: all $(BENCHES)
	@tests/bench/run $(BUILD) judge
.PHONY: bench bench-judge

FUZZ_SECONDS ?= 30
fuzz:
	@tests/fuzz/run $(FUZZ_SECONDS)
.PHONY: fuzz

man: $(BUILD)/kperfbot
	@$(BUILD)/kperfbot man >docs/kperfbot.1
.PHONY: man

SHARE := $(DESTDIR)$(PREFIX)/share/kperfbot
install: all install-files
# what is built already, where it belongs
install-files:
	install -D -m 755 $(BUILD)/kperfbot $(DESTDIR)$(PREFIX)/bin/kperfbot
	install -D -m 755 tools/service $(DESTDIR)$(PREFIX)/lib/kperfbot/service
	install -D -m 755 tools/demo $(SHARE)/tools/demo
	install -D -m 755 $(BUILD)/agent $(SHARE)/agent
	mkdir -p $(DESTDIR)$(PREFIX)/share/man/man1 $(SHARE)/kernels $(SHARE)/tests
	$(BUILD)/kperfbot man >$(DESTDIR)$(PREFIX)/share/man/man1/kperfbot.1
	cp -r jobs $(SHARE)/
	cp -r kernels/configs kernels/box-etc $(SHARE)/kernels/
	cp -r etc $(SHARE)/
	cp -r tests/demo $(SHARE)/tests/
	find $(SHARE)/jobs -name '*.[ch]' -not -path '*/guest/*' -delete
	install -D -m 644 reporters/reproduce.sh $(SHARE)/reporters/reproduce.sh
	mkdir -p $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/local|$(PREFIX)|g' etc/kperfbot.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/kperfbot.service
	install -D -m 644 etc/kperfbot.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/kperfbot.conf
.PHONY: install install-files

clean:
	rm -rf build build-san
.PHONY: clean

-include jobs/programs/programs.mk
-include kernels/plugin/plugin.mk
