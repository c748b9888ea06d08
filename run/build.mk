# SPDX-License-Identifier: GPL-2.0-or-later
# libsonde-yield.so: preloaded, never linked with, so it has no SONAME version.
# It needs neither MPI nor UCX to build.
YIELD_SRC := $(sort $(wildcard run/*.c))
YIELD_OBJ := $(YIELD_SRC:%.c=$(O)/%.o)

PROGRAMS += $(O)/libsonde-yield.so
INSTALL_TARGETS += install-yield

# Programs that it is preloaded into have no sanitizer's run time.
$(YIELD_OBJ): SONDE_CFLAGS = -std=gnu11 -pthread -fPIC $(WARNINGS)

$(O)/libsonde-yield.so: $(YIELD_OBJ) run/yield.map
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libsonde-yield.so -Wl,--version-script=run/yield.map \
		-Wl,-z,defs -pthread $(LDFLAGS) -o $@ $(YIELD_OBJ)

.PHONY: install-yield
install-yield: $(O)/libsonde-yield.so
	$(Q)$(INSTALL) -d $(DESTDIR)$(libdir)
	$(Q)$(INSTALL) -m 755 $< $(DESTDIR)$(libdir)/
