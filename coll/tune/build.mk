# SPDX-License-Identifier: GPL-2.0-or-later
# What `sonde tune` starts: one program for each MPI that is there. It has
# libsonde-coll within, to look behind its calls, and no path of the build tree.
TUNE_SRC := $(sort $(wildcard coll/tune/*.c))
TUNE_TOOLS := $(patsubst %,$(O)/tools/%.o,numbers options progress suggest launcher tune-options)
TUNE_PROGRAMS :=

# name of the MPI
define tune-mpi
TUNE_PROGRAMS += $(O)/sonde-tune-$(1)

$(O)/sonde-tune-$(1): $$(TUNE_SRC:%.c=$$(O)/$(1)/%.o) $$(coll-$(1)-obj) $$(TUNE_TOOLS) $$(O)/libsonde.a
	$$(say) LD $$@
	$$(Q)$$(CC) $$(SONDE_LDFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(coll-$(1)-libs) $$(SONDE_LIBS)
endef
$(foreach mpi,$(COLL_MPIS),$(eval $(call tune-mpi,$(mpi))))

PROGRAMS += $(TUNE_PROGRAMS)
INSTALL_TARGETS += install-tune

.PHONY: install-tune
install-tune: $(TUNE_PROGRAMS)
	$(Q)$(INSTALL) -d $(DESTDIR)$(libdir)/sonde
	$(Q)$(if $^,$(INSTALL) -m 755 $^ $(DESTDIR)$(libdir)/sonde/)
