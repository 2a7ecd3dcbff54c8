# The only entry point: `make help` lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
BIN := node_modules/.bin
# Ctrl-C of every command prints one word.
NODE := $(BIN)/node --import ./deploy/dev/interrupted.mjs
# For targets that stop or inspect a stack: the pinned Node, else the machine's own.
ANY_NODE := $(if $(wildcard $(BIN)/node),$(BIN)/node,node) --import ./deploy/dev/interrupted.mjs
# Tools installed by npm run on the pinned Node, not on the machine's own.
export PATH := $(CURDIR)/$(BIN):$(PATH)

# The chart tests that need no image builder, no Prometheus and no cluster.
TESTS ?= "test/{unit,contract,integration,e2e}/**/*.test.ts" \
  "test/chart/!(control-plane|cluster-faults|image-build|live-metrics).test.ts"

# Lists lines `name: … ## text|file` whose file exists (or that name none).
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)$$/\1|\2/p' Makefile | while IFS='|' read -r name text file; do \
	  [ -z "$$file" ] || [ -e "$$file" ] || continue; printf '  make %-14s %s\n' "$$name" "$$text"; done

install: ## the locked packages and the pinned Node (other targets run this first)
install stack-packages:
	@command -v node >/dev/null || { echo "node is missing: install Node 20 or newer, with npm" >&2; exit 1; }
	@node deploy/dev/install.mjs $(if $(filter stack-packages,$@),stack)
	@$(NODE) console/build.ts --if-changed

# They install nothing: a changed lock file must not block them or replace the packages of a running stack.
some-node:
	@[ -x $(BIN)/node ] || node -e 'process.exit(process.features.typescript ? 0 : 1)' 2>/dev/null || \
	  { echo "no packages are installed, and this machine has no Node 22.18 or newer: make up" >&2; exit 1; }

up: stack-packages ## starts the stack and sends one message; PORT_BASE=18080 moves every port, PROCESSES=apart runs one process per service
	@$(NODE) deploy/dev/up.ts

down: some-node ## stops the processes of make up; the data stays
	@$(ANY_NODE) deploy/dev/down.ts

restart: stack-packages ## S=wallet[,mongod…]: restarts processes or servers with their settings
	@$(NODE) deploy/dev/restart.ts "$(S)"

status: some-node ## each process with its readiness and memory
	@$(ANY_NODE) deploy/dev/status.ts

disk: some-node ## how much disk the packages, the servers and the stack take
	@$(ANY_NODE) deploy/dev/disk.ts

logs: some-node ## [S=wallet] [F=1]: the end of the logs, or of one; F=1 follows
	@$(ANY_NODE) deploy/dev/logs.ts "$(S)" "$(F)"

demo: stack-packages ## sends one more message and a small campaign, and follows them
	@$(NODE) deploy/dev/demo.ts

reset: some-node ## stops the stack and removes its data, keys and logs
	@$(ANY_NODE) deploy/dev/reset.ts

check: install ## format and lint, types, protocol lint and drift, house rules
	@$(BIN)/biome ci --colors=off --log-level=error .
	@$(BIN)/tsc -p .
	@$(BIN)/tsc -p console
	@$(BIN)/tsc -p clients/typescript
	@cd proto && ../$(BIN)/buf lint
	@cd proto && ../$(BIN)/buf breaking --against "../.git#ref=HEAD,subdir=proto"
	@cd proto && ../$(BIN)/buf breaking --against published.binpb
	@sh deploy/dev/check-generated.sh
	@$(BIN)/mocha --reporter dot "test/tidy/*.test.ts"

test: install ## unit, contract, chart, integration and e2e on its own servers; TESTS=file for some
	@$(NODE) test/support/run-tests.ts $(TESTS)

test-slow: install ## storms and long waits: the files named *.slow.test.ts
	@$(NODE) test/support/run-tests.ts "test/**/*.slow.test.ts"

bench: install ## the budgets of the design and this machine's figures|test/load/bench.ts
	@$(NODE) test/load/bench.ts

bench-peers: install ## the same work on peer projects, in the same run|test/load/bench-peers.ts
	@$(NODE) test/load/bench-peers.ts

bench-overload: install ## three times the capacity, then a stopped carrier: which requests are refused, and how|test/load/bench-overload.ts
	@$(NODE) test/load/bench-overload.ts

bench-attacks: install ## [RATES=10,30,60] [SECONDS=5]: floods of large bodies from one key, and what another tenant bears|test/load/bench-attacks.ts
	@$(NODE) test/load/bench-attacks.ts

bench-request-cost: install ## [ONLY=name] [MIN_MS=0]: CPU time of one request in the gateway, for the largest inputs|test/load/bench-request-cost.ts
	@$(NODE) test/load/bench-request-cost.ts

bench-steady: install ## [RATE=900] [SECONDS=15]: CPU per message by process, and latency, at a steady rate|test/load/bench-steady.ts
	@$(NODE) test/load/bench-steady.ts

bench-growth: install ## [AXES=messages,…] [COUNT=1000000] [WRITE=1]: cost per message as data and parties grow|test/load/bench-growth.ts
	@$(NODE) test/load/bench-growth.ts

soak: install ## [MINUTES=60]: half capacity for an hour; memory, handles and latency must stay flat|test/load/soak.ts
	@$(NODE) test/load/soak.ts

bench-rpc: install ## unary calls per second: our gRPC adapter and connect-node's|test/load/bench-rpc.ts
	@$(NODE) test/load/bench-rpc.ts

bench-text: install ## bodies measured and segmented per second|test/load/bench-text.ts
	@$(NODE) test/load/bench-text.ts

bench-smpp: install ## submits per second by window and rate limit|test/load/bench-smpp.ts
	@$(NODE) test/load/bench-smpp.ts

bench-wallet: install ## durable holds per second on one hot wallet|test/load/bench-wallet.ts
	@$(NODE) test/load/bench-wallet.ts

bench-webhook: install ## deliveries per second, and isolation between endpoints|test/load/bench-webhook.ts
	@$(NODE) test/load/bench-webhook.ts

bench-campaign: install ## a campaign of a million: CSV import, memory, reads, estimate|test/load/bench-campaign.ts
	@$(NODE) test/load/bench-campaign.ts

bench-console: install ## [CONSOLES=50] what open consoles cost the gateway of its accept rate|test/load/bench-console.ts
	@$(NODE) test/load/bench-console.ts

bench-fairness: install ## a tenant's single sends while another has 100,000 queued bulk messages|test/load/bench-fairness.ts
	@$(NODE) test/load/bench-fairness.ts

bench-connector-rate: install ## two carrier replicas at 100 submits per second: never more, hardly less|test/load/bench-connector-rate.ts
	@SECONDS=60 $(NODE) test/load/bench-connector-rate.ts

bench-turns: install ## two running stacks in turns: STACKS=a/stack.json,b/stack.json [ROWS=lone,accept,bulk] [ROUNDS=8]|test/load/bench-turns.ts
	@$(NODE) test/load/bench-turns.ts

bench-allocation: install ## bytes that gateway and messaging allocate for each accepted single send|test/load/bench-allocation.ts
	@$(NODE) test/load/bench-allocation.ts

bench-memory: install ## memory of each idle process, and its start time|test/load/bench-memory.ts
	@$(NODE) test/load/bench-memory.ts

profile: install ## [WRITE=1] [PROFILES=folder] CPU microseconds per message, by process and by step; WRITE=1 writes them to docs/benchmarks.md, PROFILES keeps V8's samples|test/load/profile.ts
	@$(NODE) test/load/profile.ts

bench-list: install ## pages of each filter among ten million messages|test/load/bench-list.ts
	@$(NODE) test/load/bench-list.ts

test-kill: install ## [S=wallet,…] [COUNT=2000]: kill -9 of each process during sends|test/chaos/kill-each.ts
	@$(NODE) test/chaos/kill-each.ts

seed-history: install ## fills the stack with ten million past messages|test/load/seed-history.ts
	@$(NODE) test/load/seed-history.ts

test-chart: install ## [HELM=helm3,helm4] renders and checks every preset of the chart: test/chart/README.md|test/chart/chart.test.ts
	@$(BIN)/mocha "test/chart/**/*.test.ts"

test-rolling: install ## restarts each process under load; no request may fail|test/chaos/rolling.ts
	@$(NODE) test/chaos/rolling.ts

test-restore: install ## a backup, the loss of all data, a restore by the runbook|test/chaos/restore.ts
	@$(NODE) test/chaos/restore.ts

chaos: install ## [SEED=…] [MINUTES=…] [KEEP=1]: kills, cuts and stops under load, then checks the invariants|test/chaos/chaos.ts
	@$(NODE) test/chaos/chaos.ts

clients: install ## writes the generated files of clients/ after a change of the OpenAPI document
	@$(NODE) clients/generate/generate.ts

screenshots: install ## pictures of the console on the running stack, into docs/screenshots|test/support/screenshots.ts
	@$(NODE) test/support/screenshots.ts

release: install ## VERSION=x.y.z: checks, writes the version everywhere, dates the changelog|deploy/release.ts
	@$(NODE) deploy/release.ts "$(VERSION)"

fuzz: install ## [SECONDS=60] [SEED=…] [TARGET=http]: random input for the parsers; keeps failures|test/fuzz/fuzz.ts
	@$(NODE) test/fuzz/fuzz.ts

.PHONY: help install stack-packages some-node up down restart status disk logs demo reset check test test-slow bench bench-peers bench-steady bench-rpc \
  bench-text bench-smpp bench-wallet bench-webhook bench-campaign bench-list bench-fairness bench-connector-rate \
  bench-turns bench-allocation bench-memory bench-overload bench-attacks bench-request-cost bench-growth soak profile test-kill seed-history test-chart test-rolling test-restore chaos fuzz clients screenshots release
