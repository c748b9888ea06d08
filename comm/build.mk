# SPDX-License-Identifier: GPL-2.0-or-later
# What `sonde comm` starts in a job: one program for each MPI that is there. It has
# the library within, to use the plan behind its calls, and no path of the build tree.
COMM_SRC := $(sort $(wildcard comm/*.c))
COMM_TOOLS := $(patsubst %,$(O)/tools/%.o,numbers options progress suggest text launcher comm-options \
	comm-print comm-figure)
COMM_PROGRAMS :=

# name of the MPI
define comm-mpi
COMM_PROGRAMS += $(O)/sonde-comm-$(1)

$(O)/sonde-comm-$(1): $$(COMM_SRC:%.c=$$(O)/$(1)/%.o) $$(COMM_TOOLS) $$(O)/libsonde.a
	$$(say) LD $$@
	$$(Q)$$(CC) $$(SONDE_LDFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(coll-$(1)-libs) $$(SONDE_LIBS)
endef
$(foreach mpi,$(COLL_MPIS),$(eval $(call comm-mpi,$(mpi))))

PROGRAMS += $(COMM_PROGRAMS)
INSTALL_TARGETS += install-comm

.PHONY: install-comm
install-comm: $(COMM_PROGRAMS)
	$(Q)$(INSTALL) -d $(DESTDIR)$(libdir)/sonde
	$(Q)$(if $^,$(INSTALL) -m 755 $^ $(DESTDIR)$(libdir)/sonde/)
