# SPDX-License-Identifier: GPL-2.0-or-later
# libsonde-record: counts what ranks send, for `sonde map`. As libsonde-coll, one
# for each MPI that is there; it needs nothing else of sonde.
RECORD_SRC := $(sort $(wildcard coll/record/*.c))
RECORD_MAP := coll/record/libsonde-record.map
RECORD_LIBS :=

# name of the MPI, library
define record-mpi
RECORD_LIBS += $(O)/$(2).so

$(O)/$(2).so: $(RECORD_SRC:%.c=$(O)/$(1)/%.o) $(O)/lib/replace.o $(RECORD_MAP)
	$$(say) LD $$@
	$$(Q)$$(CC) -shared -Wl,-soname,$(2).so.$$(SOVERSION) -Wl,--version-script=$$(RECORD_MAP) \
		$$(if $$(SAN),,-Wl$$(comma)-z$$(comma)defs) $$(SONDE_LDFLAGS) $$(LDFLAGS) \
		-o $$@.$$(SOVERSION) $$(filter %.o,$$^) $$(coll-$(1)-libs)
	$$(Q)ln -sf $(2).so.$$(SOVERSION) $$@
endef
$(foreach mpi,$(COLL_MPIS),$(eval $(call record-mpi,$(mpi),$(subst coll,record,$(coll-$(mpi)-lib)))))

PROGRAMS += $(RECORD_LIBS)
INSTALL_TARGETS += install-record

.PHONY: install-record
install-record: $(RECORD_LIBS)
	$(Q)$(INSTALL) -d $(DESTDIR)$(libdir)
	$(Q)for lib in $(RECORD_LIBS); do \
		$(INSTALL) -m 755 $$lib.$(SOVERSION) $(DESTDIR)$(libdir)/ && \
		ln -sf $$(basename $$lib).$(SOVERSION) $(DESTDIR)$(libdir)/$$(basename $$lib) || exit; \
	done
