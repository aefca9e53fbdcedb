# SPDX-License-Identifier: Apache-2.0
# A thin front of CMake presets; `make help` lists what there is.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
BUILD := build

.PHONY: help setup deb build demo check examples bench lint fmt fuzz install clean sanitize deep oracle
help:
	@echo 'make demo      install what is missing, build, compile a CUDA program with weir cc and run it'
	@echo 'make check     the same set-up, then every test'
	@echo 'make build     only the release build: build/bin/weir and build/lib'
	@echo 'make examples  the examples, compiled by weir cc, in build/examples'
	@echo 'make bench     measurements (bench/README.md)'
	@echo 'make lint      layers, rules, format, sizes;  make fmt formats'
	@echo 'make sanitize  under ASan+UBSan and under TSan, the tests that these can find something in'
	@echo 'make deep      the long forms of the tests (an hour); DEEP_SECONDS=n: random programs, graphs and a soak for so long each, and fuzzing'
	@echo 'make oracle    the probes that real GPUs answered (where they are present), compared; ORACLE="GROUP ..."'
	@echo 'make fuzz      a minute of fuzzing per parser (FUZZ_SECONDS=n)'
	@echo 'make install   into PREFIX (default /usr/local)'
	@echo 'make deb       a Debian package in build-deb'

setup:
	@tools/setup

build: setup
	@tools/configure release
	@ninja -C $(BUILD) -j$(JOBS)

examples: build
	@ninja -C $(BUILD) -j$(JOBS) examples

demo: examples
	@echo '$$ weir cc -O3 examples/overlap.cu -o overlap && weir run --stats --trace overlap.weir ./overlap'
	@echo '(afterwards $(BUILD)/bin/weir view $(BUILD)/examples/overlap.weir makes its timeline, a page to open)'
	@$(BUILD)/bin/weir cc -O3 examples/overlap.cu -o $(BUILD)/examples/overlap
	@set -o pipefail; $(BUILD)/bin/weir run --stats --trace $(BUILD)/examples/overlap.weir $(BUILD)/examples/overlap 2>&1 | tools/last-line RESULT

check: build examples
	@JOBS=$(JOBS) tools/test $(BUILD)

deep: build
	@JOBS=$(JOBS) tools/test $(BUILD) -C Deep -L deep $(if $(DEEP_SECONDS),-R random)
	@$(if $(DEEP_SECONDS),tools/fuzz $(DEEP_SECONDS))

oracle: build
	@tools/oracle --jobs $(JOBS) $(BUILD) $(ORACLE)

bench: build
	@bench/run $(BUILD)

lint: setup
	@tools/lint

fmt:
	@tools/format --write

sanitize: setup
	@tools/sanitize asan tsan

fuzz: setup
	@tools/fuzz $${FUZZ_SECONDS:-60}

install: build
	@cmake --install $(BUILD) --prefix $${PREFIX:-/usr/local}

deb: setup
	@JOBS=$(JOBS) tools/deb

clean:
	rm -rf build build-*
