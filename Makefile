# Monolith: "make help" lists what there is.

GO      ?= go
NPM     ?= npm
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The race detector needs cgo and a C compiler; the program itself needs neither.
RACE := $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null && echo -race)
NODE := $(shell command -v node 2>/dev/null)

# For "make test": TEST=./store/... RUN=TestRollup
TEST      ?= ./...
RUN       ?=
BENCH     ?= .
BENCHTIME ?= 1s
FUZZTIME  ?= 60s
SOAKTIME  ?= 20m
ROUNDS    ?= 200

LDFLAGS  := -s -w -X main.version=$(VERSION)
UI       := $(wildcard web/ui/src/*.ts web/ui/src/*/*.ts web/ui/src/*.css web/ui/*.json)
MYSQL56  := internal/mysqltest/npm

# Written by the tests that miss a real part: what they miss. Pictures of browser tests, also of those that failed.
export MONOLITH_SKIPPED := $(CURDIR)/.cache/skipped
export MONOLITH_SHOTS   ?= $(CURDIR)/.cache/shots

.DEFAULT_GOAL := help
.PHONY: help run build ui test vet fmt tsc script-test lint bench parts fuzz torture soak provoke shuffle deps clean

help: ## List the targets.
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 10
	@echo
	@echo 'make run "DSN=user:password@tcp(host:3306)/" watches your own server; nothing else is started'
	@echo 'make run STORE=mariadb                       keeps the history in one more private MariaDB; or any DSN'
	@echo 'make run LISTEN=127.0.0.1:9000               serves the pages there'

run: export MONOLITH_RUN_DSN = $(value DSN)
run: export MONOLITH_RUN_STORE = $(value STORE)
run: deps build ## Start private database servers under load, and Monolith watching them.
	@$(GO) build -o .cache/playground ./internal/playground
	@exec .cache/playground $(if $(LISTEN),-listen $(LISTEN))

build: ui ## Build bin/monolith.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/ ./cmd/...

# Without Node the pages have no script and show graphs as the server draws them.
ifneq ($(NODE),)
ui: web/dist/app.js

web/dist/app.js: web/ui/node_modules/.package-lock.json $(UI)
	cd web/ui && $(NPM) run --silent build
	@touch $@
else
ui:
	@echo 'There is no Node here: the pages will have no script.'
endif

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && $(NPM) ci --no-audit --no-fund --no-update-notifier --loglevel=error
	@mkdir -p $(@D) && touch $@

test: deps .cache/mailpit build vet fmt tsc script-test ## Run every test, with the real servers and the real browser.
	@mkdir -p .cache && rm -f "$$MONOLITH_SKIPPED"
	$(GO) test $(RACE) -vet=off -timeout 20m $(if $(RUN),-run '$(RUN)') $(TEST)
	$(if $(filter ./...,$(TEST)$(RUN)),GO="$(GO)" RACE="$(RACE)" .ci/fuzz 5s 2 blind)
	@if [ -s "$$MONOLITH_SKIPPED" ]; then echo; echo 'SKIPPED, since real parts are missing:'; sort -u "$$MONOLITH_SKIPPED"; fi

vet:
	$(GO) vet $(RACE) ./... # with the tests' flags, so that nothing is compiled twice

fmt:
	@wrong="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"; \
	if [ -n "$$wrong" ]; then echo "gofmt would change: $$wrong"; exit 1; fi

ifneq ($(NODE),)
tsc: web/ui/node_modules/.package-lock.json
	cd web/ui && $(NPM) run --silent check
script-test: web/ui/node_modules/.package-lock.json
	cd web/ui && $(NPM) test --silent
else
tsc script-test:
endif

lint: vet fmt tsc ## Look for mistakes without running anything.
	$(GO) tool staticcheck ./...

# With other programs that do the same work beside it, where they are installed. FIGURES=history measures some rows alone, by the
# names in cmd/monolith/figures_test.go; MONOLITH_TRACES names a folder with recorded status, without which a server is made up.
bench: ui ## Print the table of what Monolith takes, in ten minutes; FIGURES=poll chooses rows.
	@mkdir -p .cache
	$(GO) test ./cmd/monolith -vet=off -count 1 -timeout 30m -run '^TestFigures$$$(if $(FIGURES),/$(FIGURES))' -figures $(CURDIR)/.cache/figures.md
	@cat .cache/figures.md

# One package at a time, or they would measure each other; only those that have something to measure.
parts: ## Measure parts; BENCH=pattern chooses, BENCHTIME=100ms is quick.
	$(GO) test -p 1 -vet=off -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem \
		$(if $(filter ./...,$(TEST)),$(sort $(dir $(shell grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Benchmark' .))),$(TEST))

fuzz: ## Feed every parser of foreign text with mutations, FUZZTIME each.
	GO="$(GO)" .ci/fuzz $(FUZZTIME)

torture: deps build ## Kill Monolith while it polls and stores, ROUNDS times on each store.
	MONOLITH_TORTURE=$(ROUNDS) $(GO) test -vet=off -count 1 -v -timeout 60m -run '^TestKilled' ./store ./cmd/monolith

soak: deps build ## Watch 50 recorded servers each second for SOAKTIME; nothing may grow.
	MONOLITH_SOAK=$(SOAKTIME) $(GO) test -vet=off -count 1 -v -timeout 0 -run '^TestSoak$$' ./cmd/monolith

provoke: deps ## Provoke alerts on real servers, see them open and close, and list them.
	@mkdir -p .cache && rm -f .cache/provoked
	MONOLITH_PROVOKED=$(CURDIR)/.cache/provoked $(GO) test -vet=off -count 1 -timeout 30m -run '^Test(Provoked|HealthyServers)' ./cmd/monolith
	@sort .cache/provoked

shuffle: deps build ## Run every test five times in a random order, under the race detector.
	$(GO) test $(RACE) -vet=off -shuffle on -count 5 -timeout 120m $(TEST)

deps: $(if $(NODE),web/ui/node_modules/.package-lock.json $(MYSQL56)/node_modules/.package-lock.json) ## Install what this machine lacks, by apt and npm.
	@.ci/deps

# The mail relay of the tests, built from a module of its own.
.cache/mailpit: internal/mailtest/mailpit/go.mod
	@mkdir -p .cache
	$(GO) build -C internal/mailtest/mailpit -o $(CURDIR)/.cache/mailpit github.com/axllent/mailpit

clean: ## Remove what was built. The playground's history in .playground stays.
	rm -rf bin .cache web/dist/app.* web/ui/node_modules $(MYSQL56)/node_modules
