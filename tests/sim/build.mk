# SPDX-License-Identifier: GPL-2.0-or-later
# tests/sim/caches is a script that builds this program and runs it.
TEST_PROGRAMS += $(O)/tests/sim/caches

$(O)/tests/sim/caches: $(O)/tests/sim/caches.o $(O)/tests/libsim.a $(O)/libsonde.a
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(SONDE_LIBS)

.PHONY: sim-caches
sim-caches: $(O)/tests/sim/caches
