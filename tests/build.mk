# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests: tests/unit/X.c is a program that prints TAP. It is linked with the
# static library, so that it may look behind the public headers, and with the
# simulated machine.
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
UNIT_BIN := $(UNIT_SRC:%.c=$(O)/%)
SIM_OBJ := $(patsubst %.c,$(O)/%.o,$(filter-out tests/sim/caches.c,$(sort $(wildcard tests/sim/*.c))))

TEST_PROGRAMS += $(UNIT_BIN)
TESTS += $(UNIT_BIN) $(sort $(wildcard tests/*.t tests/cli/*.bats))

$(O)/tests/libsim.a: $(SIM_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(UNIT_BIN): $(O)/%: $(O)/%.o $(O)/tests/libsim.a $(A2A_LIB) $(O)/libsonde.a
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs check) $(SONDE_LIBS)

$(O)/tests/unit/map: $(patsubst %,$(O)/tools/map-%.o,matrix machine hosts layers measured place scotch)
$(O)/tests/unit/page_communication: $(patsubst %,$(O)/tools/%.o,page-communication html text)
$(O)/tests/unit/map: SONDE_LIBS += $(SCOTCH_LIBS)

$(O)/tests/unit/alltoall_tune: $(O)/coll/tune/decide.o $(O)/coll/network.o
$(O)/tests/unit/alltoall_turns: $(O)/coll/turns.o

.PHONY: unit-programs check-units
unit-programs: $(UNIT_BIN)

check-units: deps-check ## unit tests that take long, too, and more under valgrind
	$(Q)$(MAKE) --no-print-directory unit-programs
	$(Q)O='$(O)' SONDE_LONG=1 CK_TIMEOUT_MULTIPLIER=10 \
		prove --timer --comments $(PROVE_FLAGS) $(UNIT_BIN) tests/compilers.t

.PHONY: check-debian
check-debian: deps-check ## Debian's packages build and work
	$(Q)prove --timer $(PROVE_FLAGS) tests/debian/packages.t
