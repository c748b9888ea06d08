# SPDX-License-Identifier: GPL-2.0-or-later
# All of dsm/ but MPI and what begins with it, in one archive that tests link; the core
# and the simulator once more with the deliberate faults compiled in, for the one test
# that wants them; and a library for each MPI that is there.
DSM_MPI_SRC := dsm/api/init.c dsm/transport/mpi.c
DSM_CORE_SRC := $(sort $(wildcard dsm/core/*.c dsm/diff/*.c dsm/sim/*.c))
DSM_RUN_SRC := $(filter-out $(DSM_MPI_SRC),$(sort $(wildcard dsm/api/*.c dsm/fault/*.c dsm/transport/*.c))) lib/fd_message.c
DSM_LIB := $(O)/dsm/libdsm.a
DSM_FAULTY_LIB := $(O)/faulty/libdsm.a
DSM_MAP := dsm/libsonde-dsm.map
DSM_APPS_SRC := $(sort $(wildcard dsm/apps/*.c))
DSM_LIBS :=

$(DSM_LIB): $(DSM_CORE_SRC:%.c=$(O)/%.o) $(DSM_RUN_SRC:%.c=$(O)/%.o)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/faulty/%.o: %.c $(O)/.flags
	$(say) CC '$< (faulty)'
	$(Q)mkdir -p $(@D)
	$(Q)$(call compile,-DDSM_FAULTS)

$(DSM_FAULTY_LIB): $(DSM_CORE_SRC:%.c=$(O)/faulty/%.o)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/bench/dsm_diff $(O)/bench/dsm_fault: $(DSM_LIB)

# name of the MPI, as coll/build.mk has it. $(call dsm-link,NAME) links a program.
define dsm-mpi
dsm-$(1)-lib := $(subst coll,dsm,$(coll-$(1)-lib))
DSM_LIBS += $(O)/$$(dsm-$(1)-lib).so

$$(O)/$$(dsm-$(1)-lib).so: $$(DSM_LIB) $$(DSM_MPI_SRC:%.c=$$(O)/$(1)/%.o) $$(DSM_MAP)
	$$(say) LD $$@
	$$(Q)$$(CC) -shared -Wl,-soname,$$(@F).$$(SOVERSION) -Wl,--version-script=$$(DSM_MAP) \
		$$(if $$(SAN),,-Wl$$(comma)-z$$(comma)defs) $$(SONDE_LDFLAGS) $$(LDFLAGS) \
		-o $$@.$$(SOVERSION) $$(filter %.o,$$^) -Wl,--whole-archive $$(DSM_LIB) -Wl,--no-whole-archive \
		$$(coll-$(1)-libs) $$(SONDE_LIBS)
	$$(Q)ln -sf $$(@F).$$(SOVERSION) $$@

$$(O)/$(1)/dsm/apps/apps: $$(DSM_APPS_SRC:%.c=$$(O)/$(1)/%.o) $$(O)/$$(dsm-$(1)-lib).so
	$$(say) LD $$@
	$$(Q)$$(call dsm-link,$(1))
PROGRAMS += $$(O)/$(1)/dsm/apps/apps
endef
dsm-link = $(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -Wl,-rpath,$(abspath $(O)) -o $@ $(filter %.o,$^) \
	-L$(O) -l$(patsubst lib%,%,$(dsm-$(1)-lib)) -lm
$(foreach mpi,$(COLL_MPIS),$(eval $(call dsm-mpi,$(mpi))))

PROGRAMS += $(DSM_LIBS)
INSTALL_TARGETS += install-dsm

.PHONY: install-dsm
install-dsm: $(DSM_LIBS) install-lib
	$(Q)for lib in $(DSM_LIBS); do \
		name=$$(basename $$lib .so) && short=$${name#lib} && \
		$(INSTALL) -m 755 $$lib.$(SOVERSION) $(DESTDIR)$(libdir)/ && \
		ln -sf $$name.so.$(SOVERSION) $(DESTDIR)$(libdir)/$$name.so && \
		sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|' \
			-e "s|@version@|$(VERSION)|; s|@lib@|$$short|" \
			dsm/sonde-dsm.pc.in >$(DESTDIR)$(libdir)/pkgconfig/$$short.pc || exit; \
	done
