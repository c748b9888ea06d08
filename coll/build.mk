# SPDX-License-Identifier: GPL-2.0-or-later
# libsonde-coll: one set of sources, one library for each MPI that is there. An
# MPI that is not there is left out, and said to be.
COLL_SRC := $(sort $(wildcard coll/*.c)) lib/fd_message.c
COLL_MAP := coll/libsonde-coll.map
COLL_MPIS :=
COLL_LIBS :=

# name, pkg-config's name, library. Objects and programs for an MPI are below its
# name in the output folder; $(call coll-link,NAME) links a program with the library.
define coll-mpi
COLL_MPIS += $(1)
COLL_LIBS += $(O)/$(3).so
coll-$(1)-lib := $(3)
coll-$(1)-cflags := $$(patsubst -I%,-isystem %,$$(call pkg-cflags,$(2)))
coll-$(1)-libs := $$(shell $$(PKG_CONFIG) --libs-only-L $(2)) $$(filter -lmpi%,$$(shell $$(PKG_CONFIG) --libs-only-l $(2)))
coll-$(1)-obj := $$(COLL_SRC:%.c=$$(O)/$(1)/%.o)

$$(O)/$(1)/%.o: %.c $$(O)/.flags
	$$(say) CC "$$< ($(1))"
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(call compile,$$(coll-$(1)-cflags))

$$(O)/$(3).so: $$(coll-$(1)-obj) $$(O)/libsonde.so $$(COLL_MAP)
	$$(say) LD $$@
	$$(Q)$$(CC) -shared -Wl,-soname,$(3).so.$$(SOVERSION) -Wl,--version-script=$$(COLL_MAP) \
		$$(if $$(SAN),,-Wl$$(comma)-z$$(comma)defs) -Wl,-rpath,'$$$$ORIGIN' $$(SONDE_LDFLAGS) $$(LDFLAGS) \
		-o $$@.$$(SOVERSION) $$(coll-$(1)-obj) -L$$(O) -lsonde $$(coll-$(1)-libs) $$(SONDE_LIBS)
	$$(Q)ln -sf $(3).so.$$(SOVERSION) $$@

# Programs of bench/ that need it.
$$(BENCH_MPI:%.c=$$(O)/$(1)/%): $$(O)/$(1)/%: $$(O)/$(1)/%.o $$(O)/$(3).so
	$$(say) LD $$@
	$$(Q)$$(call coll-link,$(1))
PROGRAMS += $$(BENCH_MPI:%.c=$$(O)/$(1)/%)
endef

# In the output folder the library is found where it is; nothing of this is installed.
coll-link = $(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -Wl,-rpath,$(abspath $(O)) -o $@ $(filter %.o,$^) \
	-L$(O) -l$(patsubst lib%,%,$(coll-$(1)-lib)) $(coll-$(1)-libs)

ifndef SONDE_DEFERRED
has-pc = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo 1)
ifeq ($(call has-pc,mpich),1)
$(eval $(call coll-mpi,mpich,mpich,libsonde-coll))
else
$(info coll: no MPICH (libmpich-dev): libsonde-coll is left out)
endif
ifeq ($(call has-pc,ompi-c),1)
$(eval $(call coll-mpi,openmpi,ompi-c,libsonde-coll-openmpi))
endif
endif

PROGRAMS += $(COLL_LIBS)
INSTALL_TARGETS += install-coll

.PHONY: install-coll
install-coll: $(COLL_LIBS) install-lib
	$(Q)for lib in $(COLL_LIBS); do \
		name=$$(basename $$lib) && \
		$(INSTALL) -m 755 $$lib.$(SOVERSION) $(DESTDIR)$(libdir)/ && \
		ln -sf $$name.$(SOVERSION) $(DESTDIR)$(libdir)/$$name && \
		sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@version@|$(VERSION)|' \
			-e "s|@name@|$${name%.so}|; s|@lib@|$$(echo $${name%.so} | sed s/^lib//)|" \
			coll/sonde-coll.pc.in >$(DESTDIR)$(libdir)/pkgconfig/$$(echo $${name%.so} | sed s/^lib//).pc || exit; \
	done
