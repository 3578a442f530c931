# tcg-count.so counts in QEMU, kpb-mark tells it from inside the guest when: docs/PROFILE.md. Neither links to anything of
# ours, and neither may be built with sanitizers.
all: $(BUILD)/tcg-count.so $(BUILD)/kpb-mark

$(BUILD)/tcg-count.so: kernels/plugin/plugin.c kernels/plugin/count-format.h kernels/plugin/qemu-plugin-api.h
	$(call say,PLUGIN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -I. -O2 -g -fPIC -shared $(WARN) -o $@ $<

MARK_AT = $(shell sed -n 's/^.define COUNT_MARK_$(1) \(0x[0-9a-f]*\).*/\1/p' kernels/plugin/count-format.h)
$(BUILD)/kpb-mark: kernels/plugin/mark.c kernels/plugin/count-format.h kernels/plugin/plugin.mk
	$(call say,MARK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -Os -static -nostdlib -ffreestanding -fpie -no-pie -fno-stack-protector -fcf-protection=none \
		-fno-asynchronous-unwind-tables $(WARN) -Wl,--build-id=none -Wl,-Ttext-segment=$(call MARK_AT,BASE) \
		-Wl,--section-start=.mark.start=$(call MARK_AT,START) \
		-Wl,--section-start=.mark.stop=$(call MARK_AT,STOP) -o $@ $<

install: install-plugin
install-plugin: all
	install -D -m 755 $(BUILD)/kpb-mark $(SHARE)/kpb-mark
	install -D -m 755 $(BUILD)/tcg-count.so $(SHARE)/tcg-count.so
.PHONY: install-plugin
