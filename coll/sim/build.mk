# SPDX-License-Identifier: GPL-2.0-or-later
# The simulator of alltoall: an archive that the command and the unit tests link.
A2A_SRC := $(sort $(wildcard coll/sim/*.c))
A2A_LIB := $(O)/coll/liba2a.a

$(A2A_LIB): $(A2A_SRC:%.c=$(O)/%.o)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

.PHONY: check-sim
check-sim: $(O)/sonde ## what the paper on alltoall says, under 2,000 perturbations
	$(Q)$(O)/sonde sim alltoall --claims --perturb 2000
