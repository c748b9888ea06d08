# SPDX-License-Identifier: GPL-2.0-or-later
# The report in a browser. It has a target and packages of its own: a browser is large.

.PHONY: check-page
check-page: page-deps ## sonde report's page in a browser: phone, desk, print; no error, no request
	$(Q)$(MAKE) --no-print-directory $(O)/sonde
	$(Q)O='$(O)' SONDE='$(O)/sonde' prove --timer $(PROVE_FLAGS) tests/page/page.bats

.PHONY: page-deps
page-deps:
	$(Q)./deps run check page
