# The programs of our own that run on the measured machine: static, nothing but libc, put into the root image by name.
GUEST_SRC := $(wildcard jobs/programs/*/guest/*.c)
GUEST := $(patsubst %.c,$(BUILD)/%,$(notdir $(GUEST_SRC)))

define guest_rule
$(BUILD)/$(basename $(notdir $(1))): $(1)
	$$(call say,GUEST,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -std=gnu11 -O2 -static $$(WARN) -pthread -o $$@ $$<
endef
$(foreach s,$(GUEST_SRC),$(eval $(call guest_rule,$(s))))

all: $(GUEST)

install: install-guest
install-guest: $(GUEST)
	mkdir -p $(SHARE)
	install -m 755 $(GUEST) $(SHARE)/
.PHONY: install-guest
