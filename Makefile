# SPDX-License-Identifier: Apache-2.0
# The commands people type. Meson does the work; a fresh Debian 12 needs
# nothing by hand, since each target installs the packages that it misses.

BUILD ?= build
DESTDIR ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help build check test test-all test-kernels soak screenshots lint format install clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | \
		while IFS='	' read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done

# A tree that was set up with another prefix than the one that is asked for takes this one. Nobody
# asks: it keeps its own.
# One of before lib was the default may have lib64, in which nobody looks on Debian.
has-option = meson introspect $(BUILD) --buildoptions | grep -qF '"name": "$(1)", "value": "$(2)"'
set-places = ! $(call has-option,libdir,lib64) || meson configure $(BUILD) --libdir=lib
ifneq ($(origin PREFIX),file)
set-places += ; $(call has-option,prefix,$(PREFIX)) || meson configure $(BUILD) --prefix=$(PREFIX)
endif

$(BUILD)/build.ninja:
	meson setup --prefix=$(PREFIX) $(BUILD)

build: ## compile everything into build/
	tools/install-packages build
	tools/fetch-duckdb $(BUILD)/src/lib/fathom
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@$(set-places)
	ninja -C $(BUILD) -j$(JOBS)

check: ## build, run what needs no privilege and, as root, a dozen tests that record (minutes)
	tools/install-packages build test
	tools/fetch-duckdb $(BUILD)/src/lib/fathom
	tools/run-tests --build $(BUILD) check

test: ## build, run whatever guards a promise, count it (as root: all of it; 25 minutes)
	tools/install-packages build test
	tools/fetch-duckdb $(BUILD)/src/lib/fathom
	tools/run-tests --build $(BUILD) test

test-all: ## the same with all seeds and the long tests, before a release
	tools/install-packages build test
	tools/fetch-duckdb $(BUILD)/src/lib/fathom
	tools/run-tests --build $(BUILD) all

test-kernels: ## run the tests that matter on Debian's kernels, in qemu (two to three hours)
	tools/install-packages build test kernels
	@$(MAKE) --no-print-directory build
	tests/kernels/run $(BUILD)

soak: ## record a busy host, killing the recorder, for SOAK_MINUTES (20); as root
	tools/install-packages build test
	@$(MAKE) --no-print-directory build
	tests/soak/run $(BUILD)

screenshots: ## pictures of each view of the page in build/screenshots; as root
	tools/install-packages build test
	@$(MAKE) --no-print-directory build
	FATHOM_SCREENSHOTS="$(abspath $(BUILD)/screenshots)" meson test -C $(BUILD) --no-rebuild page page-hostile

lint: ## check format, sizes and what clang-tidy finds
	tools/install-packages build lint
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	tools/lint $(BUILD)

format: ## bring all C sources into the project's format
	tools/install-packages lint
	git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format -i

install: build ## install under DESTDIR and PREFIX (/usr/local)
	DESTDIR="$(abspath $(DESTDIR))" meson install -C $(BUILD) --no-rebuild
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig # for programs that link libfathom
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || getent passwd fathom >/dev/null || \
		useradd --system --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin fathom # of map and serve

clean: ## remove what was built
	rm -rf $(BUILD) $(BUILD)-clang

ifneq ($(wildcard examples/thumbnailer/run),)
.PHONY: run
run: ## fathom up with the thumbnail server under load: live, or a report after RUN_SECONDS (30)
	tools/install-packages build run
	@$(MAKE) --no-print-directory build
	examples/thumbnailer/run $(BUILD)
endif

ifneq ($(wildcard bench/run),)
.PHONY: bench
bench: ## measure fathom's cost and speed
	tools/install-packages build bench
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@[ -x $(BUILD)/bench/bench-lttng ] || meson setup --reconfigure $(BUILD) >/dev/null
	@$(MAKE) --no-print-directory build
	bench/run $(BUILD)
endif
