# SPDX-License-Identifier: GPL-2.0-or-later
# The module, for the userland's Makefile: built in a copy of its own in the
# output folder, so that the tree stays clean, and laid down for DKMS.
KDIR ?= /lib/modules/$(shell uname -r)/build
KMOD_SRC := $(sort $(wildcard kmod/*.c kmod/*.h)) kmod/Kbuild kmod/Makefile
KMOD_COPY := $(O)/kmod

# Our own flags and variables are not kbuild's: only these go on.
KMOD_MAKE = env -u MAKEFLAGS -u MFLAGS $(MAKE) -C $(KMOD_COPY)/kmod KDIR=$(KDIR) \
	$(foreach v,V W C CF LLVM,$(if $($(v)),$(v)=$($(v))))

DKMS_DIR = $(DESTDIR)/usr/src/sonde-$(VERSION)
udevdir ?= /usr/lib/udev
sysusersdir ?= /usr/lib/sysusers.d

.PHONY: kmod kmod-copy kmod-sparse kmod-clean install-dkms
kmod-copy:
	$(Q)mkdir -p $(KMOD_COPY)/kmod $(KMOD_COPY)/include/uapi/linux
	$(Q)for f in $(KMOD_SRC) include/uapi/linux/sonde.h dkms.conf; do \
		cmp -s $$f $(KMOD_COPY)/$$f || cp $$f $(KMOD_COPY)/$$f || exit; done

kmod: kmod-copy ## the module, build/kmod/kmod/sonde.ko (KDIR= W=1)
	$(say) KBUILD $(KDIR)
	+$(Q)$(KMOD_MAKE)

kmod-sparse: C := 2
kmod-sparse: CF := -Wsparse-error
kmod-sparse: kmod ## the same, and what sparse finds is an error

kmod-clean: ## remove it
	$(say) CLEAN $(KMOD_COPY)
	$(Q)rm -rf $(KMOD_COPY)

install-dkms: ## the source for DKMS, the udev rule and the group (DESTDIR=)
	$(Q)$(INSTALL) -d $(DKMS_DIR)/kmod $(DKMS_DIR)/include/uapi/linux \
		$(DESTDIR)$(udevdir)/rules.d $(DESTDIR)$(sysusersdir) $(DESTDIR)$(mandir)/man4
	$(Q)$(INSTALL) -m 644 dkms.conf $(DKMS_DIR)/
	$(Q)$(INSTALL) -m 644 $(KMOD_SRC) kmod/README.md $(DKMS_DIR)/kmod/
	$(Q)$(INSTALL) -m 644 include/uapi/linux/sonde.h $(DKMS_DIR)/include/uapi/linux/
	$(Q)$(INSTALL) -m 644 kmod/60-sonde.rules $(DESTDIR)$(udevdir)/rules.d/
	$(Q)$(INSTALL) -m 644 kmod/sonde.sysusers $(DESTDIR)$(sysusersdir)/sonde.conf
	$(Q)$(INSTALL) -m 644 man/sonde.4 $(DESTDIR)$(mandir)/man4/
