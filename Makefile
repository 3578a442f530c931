# kperfbot - type "make help"
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
CC ?= gcc
PKGS := libgit2 libcurl sqlite3 json-c libfyaml libsystemd libzstd smartcols libcrypto

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

LAYERS := lib db jobs kernels bisect reporters bot
SRC := $(wildcard $(addsuffix /*.c,$(LAYERS)) jobs/programs/*/*.c jobs/monitors/*/*.c)
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIBOBJ := $(filter-out $(BUILD)/bot/main.o,$(OBJ))
UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c))

# pkg-config is asked when something is compiled, so that "make deps" works before the libraries are there
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS = $(shell pkg-config --libs $(PKGS)) -lRmath -lm
CPPFLAGS += -I. -D_GNU_SOURCE -DMATHLIB_STANDALONE -DKPB_DATADIR='"$(PREFIX)/share/kperfbot"'

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

$(BUILD)/libkperfbot.a: $(LIBOBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(LIBOBJ)

$(BUILD)/kperfbot: $(BUILD)/bot/main.o $(BUILD)/libkperfbot.a
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
