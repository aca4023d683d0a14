# Two commands are all that people need: `make run` and `make test`. Both install what is missing, and only that.
# From the outside come only crates, npm packages and Debian packages. Nothing is installed outside this folder but
# Debian packages and Rust's WASM target.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Steps say how long after the start they begin; sub-makes count from the same start.
ifndef START
START := $(shell date +%s)
endif
export START
comma := ,
say = printf '\n==> [%4d s] %s\n' "$$(( $$(date +%s) - $(START) ))" "$(1)$(if $(2),$(comma)$(2))$(if $(3),$(comma)$(3))"

# Queries are checked against .sqlx/, never against a database that happens to be named in the environment.
export SQLX_OFFLINE := true
export CARGO_TARGET_DIR := $(CURDIR)/target
CARGO := cargo
LOCKED := --locked

WASM := target/wasm32-unknown-unknown/wasm-release/matinee.wasm
BINDGEN := target/bindgen
SITE := target/site
STAMPS := .tools/stamps
WASM_FLAGS := --lib --target wasm32-unknown-unknown --no-default-features --features hydrate

# The tool must be of the very version of the crate, or it refuses the WASM.
WASM_BINDGEN_VERSION = $(shell awk '/^name = "wasm-bindgen"$$/ { getline; gsub(/[^0-9.]/, ""); print; exit }' Cargo.lock)

FIND_POSTGRES := { ls "$${MATINEE_PG_BIN:-/nowhere}"/initdb /usr/lib/postgresql/*/bin/initdb /usr/pgsql-*/bin/initdb \
	/opt/homebrew/opt/postgresql*/bin/initdb /usr/local/opt/postgresql*/bin/initdb 2>/dev/null || true; } | grep -q . \
	|| command -v initdb >/dev/null
FIND_CHROMIUM := command -v chromium || command -v chromium-browser || command -v google-chrome-stable || command -v google-chrome

# $(call debian,packages,what to do elsewhere)
debian = if command -v apt-get >/dev/null; then \
		as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
		$$as_root apt-get update -qq || true; \
		$$as_root env RUNLEVEL=$${RUNLEVEL:-} DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null; \
	else echo "Missing: $(2)" >&2; exit 1; fi

.PHONY: help
help: ## Show this help
	@echo "make run     build what is missing or changed and serve the demo cinema"
	@echo "make test    check everything: formatting, lints, tests on a real Postgres, tests in a real browser"
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | grep -vE '^(run|test|help):' | sort | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

## ---------------------------------------------------------------- The two commands

.PHONY: run
run: run-tools ## Build and serve; ARGS="--listen 0.0.0.0:8080" passes flags on
	@$(MAKE) build
	@$(call say,Serving. Ctrl-C stops it; the data stays in .matinee.)
	@exec target/release/matinee serve $(ARGS)

.PHONY: test
test: test-tools ## Check everything, as CI does
	@$(MAKE) lint
	@$(MAKE) site
	@$(MAKE) test-rust
	@$(MAKE) test-browser
	@$(call say,Everything passed.)

## ---------------------------------------------------------------- Building

.PHONY: build
build: build-tools server site ## Build target/release/matinee and target/site

.PHONY: server
server: cargo
	@if [ ! -e target/release/matinee ]; then \
		$(call say,Compiling the server: about five minutes on two cores the first time, then only what changed); fi
	@$(CARGO) build $(LOCKED) --release --bin matinee

.PHONY: site
site: build-tools ## Build target/site: WASM, JavaScript, styles, images
	@$(MAKE) $(SITE)/hash.txt

$(WASM): FORCE
	@if [ ! -e $@ ]; then \
		$(call say,Compiling the browser side to WASM: about three minutes on two cores the first time); fi
	@$(CARGO) build $(LOCKED) $(WASM_FLAGS) --profile wasm-release

$(BINDGEN)/matinee_bg.wasm: $(WASM)
	@rm -rf $(BINDGEN)
	@tool=.tools/bin/wasm-bindgen; [ -x $$tool ] || tool=wasm-bindgen; \
	$$tool $< --target web --no-typescript --omit-default-module-path --remove-name-section --out-name matinee --out-dir $(BINDGEN)

# Which WASM features may be used is written in the file itself by rustc.
$(BINDGEN)/matinee.opt.wasm: $(BINDGEN)/matinee_bg.wasm node_modules/.package-lock.json
	@$(call say,Shrinking the WASM: some ten seconds)
	@node_modules/.bin/wasm-opt -Oz --strip-producers $< -o $@

$(SITE)/hash.txt: $(BINDGEN)/matinee.opt.wasm $(shell find style public -type f 2>/dev/null) $(shell find style public -type d 2>/dev/null)
	@$(call say,Putting $(SITE) together)
	@node style/build.mjs $(BINDGEN) $(SITE)

FORCE:

## ---------------------------------------------------------------- Checking

.PHONY: lint
lint: lint-tools ## Formatting and lints for both targets; warnings are errors
	@$(call say,Formatting)
	@$(CARGO) fmt --check
	@$(MAKE) $(STAMPS)/lint
	@$(call say,Lints: the browser side)
	@$(CARGO) clippy $(LOCKED) $(WASM_FLAGS) -- -D warnings

# The lints of the native side run against a real database, which shows at once whether .sqlx/ is fresh.
$(STAMPS)/lint: Cargo.toml Cargo.lock $(shell find src tests migrations .sqlx -type f 2>/dev/null) .ci/sqlx
	@$(call say,Lints and queries: the server side; about four minutes on two cores the first time)
	@.ci/sqlx check
	@mkdir -p $(@D) && touch $@

.PHONY: test-rust
test-rust: test-tools ## Unit, database, concurrency and architecture tests
	@if cargo nextest --version >/dev/null 2>&1; then \
		$(call say,Tests: compiling takes some minutes the first time); \
		$(CARGO) nextest run $(LOCKED); \
	else \
		$(call say,Tests with cargo test, since cargo-nextest is not installed: slower, same checks); \
		$(CARGO) test $(LOCKED); \
	fi

.PHONY: test-browser
test-browser: test-tools site ## Tests in Chromium; ARGS="-g hold" passes flags on
	@$(call say,Browser tests)
	@$(CARGO) build $(LOCKED) --bin matinee
	@chromium=$$($(FIND_CHROMIUM)); \
	MATINEE_CHROMIUM="$$chromium" MATINEE_SITE=$(CURDIR)/$(SITE) node_modules/.bin/playwright test -c end2end/playwright.config.ts $(ARGS)

.PHONY: sqlx
sqlx: cargo postgres ## Check the queries against a fresh database and write .sqlx/ anew
	@.ci/sqlx write

.PHONY: chaos
chaos: cargo postgres ## Crash a live cinema for minutes and compare all books; MATINEE_CHAOS_BUYERS=300, MATINEE_CHAOS_SEED=<its plan again>
	@$(call say,A crowd buys while everything fails: about five minutes for 300 people$(comma) after compiling)
	@MATINEE_CHAOS_BUYERS="$${MATINEE_CHAOS_BUYERS:-300}" $(CARGO) test $(LOCKED) --test chaos -- --nocapture crowd

.PHONY: bench
bench: run-tools site ## Measure what the README states
	@$(CARGO) bench $(LOCKED) --bench speed -- $(ARGS)

.PHONY: clean
clean: ## Remove everything built and installed in this folder; the cinema's data in .matinee stays
	rm -rf target .tools node_modules

## ---------------------------------------------------------------- Tools, each installed only if missing

.PHONY: run-tools build-tools lint-tools test-tools
build-tools: cargo wasm-target wasm-bindgen node_modules/.package-lock.json
run-tools: build-tools
	@[ -n "$${DATABASE_URL:-}" ] || $(MAKE) postgres
lint-tools: cargo wasm-target postgres
test-tools: build-tools postgres chromium nginx

.PHONY: cargo
cargo:
	@command -v cargo >/dev/null || { echo "Missing: Rust. Install rustup (https://rustup.rs), then run this again." >&2; exit 1; }
	@command -v cc >/dev/null || { $(call say,Installing a C linker: under a minute); \
		$(call debian,gcc libc6-dev,a C compiler (cc)$(comma) which Rust links with); }

.PHONY: wasm-target
wasm-target: cargo
	@[ -d "$$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] || { \
		$(call say,Adding the WASM target to Rust: under a minute); \
		if command -v rustup >/dev/null; then rustup target add wasm32-unknown-unknown || { \
			echo "rustup could not add wasm32-unknown-unknown; once it can reach its server, run this again." >&2; exit 1; }; \
		else echo "Missing: Rust's target wasm32-unknown-unknown. Install rustup (https://rustup.rs), or your distribution's package of it (Debian: libstd-rust-dev-wasm32)." >&2; exit 1; fi; }

# Its own optimisation is of no use here: it runs once a build, for a second.
.PHONY: wasm-bindgen
wasm-bindgen: cargo
	@wanted="wasm-bindgen $(WASM_BINDGEN_VERSION)"; \
	if [ -x .tools/bin/wasm-bindgen ]; then \
		[ "$$(.tools/bin/wasm-bindgen --version)" = "$$wanted" ] && exit 0; rm -f .tools/bin/wasm-bindgen; fi; \
	[ "$$(wasm-bindgen --version 2>/dev/null || true)" = "$$wanted" ] && exit 0; \
	$(call say,Compiling $$wanted into .tools: about two minutes on two cores, once); \
	CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		env -u CARGO_TARGET_DIR cargo install --quiet wasm-bindgen-cli --version "$(WASM_BINDGEN_VERSION)" --root .tools --bin wasm-bindgen

node_modules/.package-lock.json: package.json package-lock.json
	@command -v npm >/dev/null || { $(call say,Installing Node.js and npm: a minute); \
		$(call debian,nodejs npm,Node.js 20 or newer with npm); }
	@$(call say,Installing the build and browser-test tools from npm: under a minute)
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: postgres
postgres:
	@$(FIND_POSTGRES) || { $(call say,Installing the Postgres server from Debian: a minute. Debian also sets up a database of its own; Matinee leaves it alone.); \
		$(call debian,postgresql,a Postgres server; install one$(comma) or set MATINEE_PG_BIN to the folder that holds its initdb); }

.PHONY: chromium
chromium:
	@$(FIND_CHROMIUM) >/dev/null || { $(call say,Installing Chromium for the browser tests: a minute or two); \
		$(call debian,chromium chromium-sandbox fonts-liberation,Chromium or Chrome$(comma) for the browser tests); }

# Told that the machine is in its maintenance mode, Debian installs nginx without starting it.
.PHONY: nginx
nginx:
	@[ -x /usr/sbin/nginx ] || command -v nginx >/dev/null || { $(call say,Installing nginx for the tests behind a proxy: under a minute. It is not started.); \
		export RUNLEVEL=1; $(call debian,nginx,nginx$(comma) for the tests behind a proxy); }
