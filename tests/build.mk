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

.PHONY: unit-programs
unit-programs: $(UNIT_BIN)

.PHONY: check-debian
check-debian: deps-check ## Debian's packages build and work
	$(Q)prove --timer $(PROVE_FLAGS) tests/debian/packages.t
