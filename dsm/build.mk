# SPDX-License-Identifier: GPL-2.0-or-later
# The protocol's core, the diffs and the simulator, in one archive that tests link;
# and once more with the deliberate faults compiled in, for the one test that wants
# them.
DSM_SRC := $(sort $(wildcard dsm/core/*.c dsm/diff/*.c dsm/sim/*.c))
DSM_LIB := $(O)/dsm/libdsm.a
DSM_FAULTY_LIB := $(O)/faulty/libdsm.a

$(DSM_LIB): $(DSM_SRC:%.c=$(O)/%.o)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/faulty/%.o: %.c $(O)/.flags
	$(say) CC '$< (faulty)'
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SONDE_CPPFLAGS) $(CPPFLAGS) -DDSM_FAULTS $(SONDE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(DSM_FAULTY_LIB): $(DSM_SRC:%.c=$(O)/faulty/%.o)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/bench/dsm_diff: $(DSM_LIB)
