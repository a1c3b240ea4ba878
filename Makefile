# Everything runs in .venv, which any target makes when it is missing or older than what it is made from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# another Spark than the one that constraints.txt pins: make test SPARK='3.5.*'
SPARK ?=
export DBT_SEND_ANONYMOUS_USAGE_STATS := false

.PHONY: help setup java lint format test test-landing test-metastore mutants coverage test-deep test-deep-alone test-lake test-catalogs test-connect test-cluster test-engines test-trino test-matrix wheel wheel-check lineage-check release-check bench bench-full demo thrift cluster docs clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

java:
	@java -version 2>&1 | grep -qE '"(17|21)[."]' || { \
	  echo "Spark needs a JDK 17 or 21, and 'java -version' shows none."; \
	  echo "Install one (Debian: apt-get install openjdk-17-jdk-headless) or put it on PATH, then run make again."; \
	  exit 1; }

# $(call install,extra)
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(VENV)/constraints.txt -e '.[$(1)]' \
  $(if $(SPARK),'pyspark==$(SPARK)')

$(VENV)/.demo: pyproject.toml constraints.txt
	@echo "== setting up $(VENV): dbt and pyspark (a minute the first time)"
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), "Python 3.10 or newer is needed"'
	@$(PYTHON) -m venv $(VENV)
	@grep -v $(if $(SPARK),'^py\(spark\|4j\)==','^$$') constraints.txt > $(VENV)/constraints.txt
	@$(call install,demo)
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	@echo "== setting up $(VENV): what tests need"
	@$(call install,test)
	@touch $@

$(VENV)/.made: $(VENV)/.test
	@echo "== setting up $(VENV): the tools"
	@$(call install,dev)
	@touch $@

setup: java $(VENV)/.made ## the virtual environment, nothing else

# beside dbt the type checker would pull in a library that dbt-core does not allow
$(VENV)-types/.made: constraints-types.txt
	@echo "== setting up $(VENV)-types: the type checker"
	@$(PYTHON) -m venv $(VENV)-types
	@$(VENV)-types/bin/python -m pip install --quiet --disable-pip-version-check -r constraints-types.txt
	@touch $@

lint: $(VENV)/.made $(VENV)-types/.made ## style, imports and types
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(VENV)-types/bin/mypy --python-executable $(BIN)/python

format: $(VENV)/.made ## put the code in order
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

# Two processes with a Spark session each, dbt in-process. Folders stand in the order in which their files start, the
# longest first, so that both processes end together. Hive's metastore takes a third of the time: the tables of make
# test and make test-landing are in Spark's own catalog. What depends on the catalog runs by make test-metastore.
APART := -n 2 --dist loadfile --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest $(APART)
SLICE := --catalog in-memory -m "not landing and not deep and not lake"
FOLDERS := tests/conformance tests/integration tests/faults tests/thrift tests/engine tests/property tests/adapter

# what passed goes into docs/versions.md
TRIED := $(BIN)/python tests/packaging/version_matrix.py --record

test: java $(VENV)/.test ## a slice of each feature in five minutes, first what needs no Spark
	@echo "== tests without Spark"
	@$(PYTEST) -m "not landing and not deep" tests/unit
	@echo "== a slice of each feature (five minutes)"
	@$(PYTEST) --durations 10 --junit-xml build/slice.xml $(SLICE) $(FOLDERS)

test-landing: java $(VENV)/.test ## what make test leaves out, but the deep tests and those of make test-metastore
	@echo "== what the slice leaves out (40 minutes)"
	@$(PYTEST) --long --durations 10 --junit-xml build/landing.xml --catalog in-memory \
	  -m "landing and not metastore and not deep and not lake" tests/unit $(FOLDERS)

test-metastore: java $(VENV)/.test ## over Hive's metastore: what depends on the catalog
	@echo "== over Hive's metastore: what depends on the catalog (20 minutes)"
	@$(PYTEST) --long --durations 10 --junit-xml build/metastore.xml \
	  -m "metastore and not deep and not lake" tests/unit $(FOLDERS)

test-deep: test test-landing test-metastore test-lake test-catalogs test-connect test-cluster test-engines test-trino test-deep-alone mutants ## the rest: property tests in full counts, faults at every statement, dbt's own suites
	@$(TRIED) session "Hive metastore" parquet "passed: make test test-metastore"
	@$(TRIED) thrift "Hive metastore" parquet "passed: make test test-metastore"

test-deep-alone: setup
	@echo "== deep tests"
	@TEST_SEED=$${TEST_SEED:-random} $(BIN)/python -m pytest --long -m deep -n 2 --dist load

test-lake: setup ## over Delta Lake and Apache Iceberg (from Maven Central), in 25 minutes
	@echo "== tests over Delta Lake and over Iceberg: processes with sessions of their own"
	@$(BIN)/python -m pytest --long -m lake tests/adapter/lake
	@$(BIN)/python -m pytest --long -m lake tests/iceberg
	@$(TRIED) session "Hive metastore" delta "passed: make test-lake"
	@$(TRIED) session "Iceberg's session catalog, type hive" iceberg "passed: make test-lake"

$(VENV)/.catalogs: $(VENV)/.made
	@$(call install,catalogs)
	@touch $@

# Spark's own interface of views is younger than the Spark of constraints.txt
YOUNGER := $(PYTHON) tests/packaging/version_matrix.py --in 4.3/1.11
# of conformance the modules whose models are made in the catalog: the others ask Spark about Spark
IN_ANY := tests/catalogs tests/property/test_histories.py \
  $(addprefix tests/conformance/,test_cases.py test_update_streams.py realistic)
CATALOGS := local served files glue nessie nessie_own plain
test-catalog-%: NAMED = Iceberg, type $(TYPE)
test-catalog-local: TYPE := jdbc
test-catalog-served: TYPE := rest
test-catalog-files: TYPE := hadoop
test-catalog-glue: TYPE := glue, over moto
test-catalog-nessie: TYPE := rest, Nessie over moto
test-catalog-nessie_own: TYPE := nessie
test-catalog-plain: NAMED := Spark's own interfaces
# each case over each format of the diffs; a slice of the cases, and all that depends on the catalog, in the others
test-catalog-%: CASES := -m "(metastore or not landing) and not own_catalog and not deep"
test-catalog-local test-catalog-plain: CASES := -m "not own_catalog and not deep"
# behind the servers of others the faults are left out: they are tried in the catalogs of files, and behind Iceberg's own
test-catalog-%: FAULTS := tests/faults tests/property/test_stacked.py
test-catalog-glue test-catalog-nessie test-catalog-nessie_own: FAULTS :=
test-catalog-plain: PYTEST := $(YOUNGER) -m pytest $(APART)
test-catalog-plain: TRIED := $(YOUNGER) tests/packaging/version_matrix.py --record

test-catalog-%: setup $(VENV)/.catalogs
	@echo "== tests in the catalog $*: $(NAMED)"
	@$(PYTEST) --catalog $* $(CASES) $(IN_ANY) $(FAULTS)
	@$(TRIED) session "$(NAMED)" $(if $(TYPE),iceberg,parquet) "passed: make test-catalog-$*"

# before the first hour: Nessie's server needs a younger Java than the one on PATH may be
test-catalogs: setup $(VENV)/.catalogs ## over catalogs that a profile names: Iceberg's of type jdbc, behind its own REST server on loopback, without views (hadoop, and glue over moto), of Nessie's server; one by Spark 4.3's own interfaces (test-catalog-glue and the like: one alone)
	@PYTHONPATH=tests $(BIN)/python -c 'from support.named_catalogs import java_for_nessie; java_for_nessie()'
	@for catalog in $(CATALOGS); do $(MAKE) --no-print-directory test-catalog-$$catalog || exit 1; done

# a venv for each pair: CELLS='3.5/1.10 4.3/1.11' for some
test-matrix: java ## the demo, conformance and a history with each Spark and each dbt-core: the table in docs/versions.md
	@$(PYTHON) tests/packaging/version_matrix.py $(CELLS)

$(VENV)/.connect: $(VENV)/.made
	@$(call install,connect)
	@touch $@

test-connect: setup $(VENV)/.connect ## over Spark Connect: the server of pyspark's own jars on loopback, and clients without a JVM
	@# test_function_facts asks the JVM of Spark about Spark, and a client has none
	@$(PYTEST) --catalog connect -m "not own_catalog and not deep" --ignore tests/conformance/test_function_facts.py \
	  tests/connect tests/conformance tests/faults/test_kill.py tests/property/test_histories.py
	@$(TRIED) "session, Spark Connect" "Hive metastore" parquet "passed: make test-connect"

test-cluster: java $(VENV)/.test ## over a standalone cluster on loopback: executors and workers killed, several clients (a quarter of an hour)
	@echo "== tests over a master, two workers and a Thrift server"
	@$(BIN)/python -m pytest tests/cluster
	@$(TRIED) "thrift, standalone cluster" "Hive metastore" parquet "passed: make test-cluster"

# Sail brings a client of Spark Connect of its own, which would stand in the place of pyspark
$(VENV)-sail/.made: constraints-sail.txt
	@echo "== setting up $(VENV)-sail: Sail"
	@$(PYTHON) -m venv $(VENV)-sail
	@$(VENV)-sail/bin/python -m pip install --quiet --disable-pip-version-check -r constraints-sail.txt
	@touch $@

test-engines: setup $(VENV)-sail/.made ## the same files read by Spark, by Comet (from Maven Central), by Sail and by DuckDB (ten minutes)
	@echo "== each conformance and realistic model at five instants, by four engines"
	@$(BIN)/python -m pytest --catalog in-memory tests/engines

$(VENV)/.trino: $(VENV)/.made
	@$(call install,trino)
	@touch $@

test-trino: setup $(VENV)/.trino ## the chains of Iceberg read by Trino, behind a REST server on loopback; Trino needs a JDK 24 or 25 beside that of Spark
	@echo "== each conformance and realistic model at five instants, by Trino"
	@$(BIN)/python -m pytest --catalog served tests/engines/test_trino.py tests/engines/test_same_rows.py::test_same_rows

$(VENV)/.mutants: $(VENV)/.made
	@$(call install,mutants)
	@touch $@

mutants: $(VENV)/.mutants ## which of 300 mutants of the core the tests without Spark kill
	@$(BIN)/python tests/packaging/mutants.py

coverage: setup ## what share of the code make test runs, branches too
	@$(PYTEST) $(SLICE) \
	  --cov --cov-report=term:skip-covered tests/unit $(FOLDERS)

wheel: setup ## build wheel and sdist into dist/
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist . > /dev/null
	@ls dist

wheel-check: setup ## build wheel and sdist, install each into a clean environment, and let dbt parse a project
	@$(BIN)/python tests/packaging/wheel_check.py

lineage-check: setup ## what OpenLineage's wrapper of dbt sends about the temporal views of the demo
	@$(BIN)/python tests/packaging/lineage_check.py

$(VENV)/.release: $(VENV)/.made
	@$(call install,release)
	@touch $@

release-check: $(VENV)/.release ## wheel, sdist and bill of materials are made and tried; what is left to a person is printed
	@$(BIN)/python tests/packaging/release_check.py $(RELEASE)

bench: setup ## benchmarks at a size for 2 cores: ratios, and plots in benchmarks/plots
	@$(BIN)/python benchmarks/compile_time.py
	@$(BIN)/python benchmarks/plain_sql.py --execute realistic
	@$(BIN)/python benchmarks/growth.py
	@$(BIN)/python benchmarks/read.py
	@$(BIN)/python benchmarks/planning.py --payments 200000 --rounds 20
	@$(BIN)/python benchmarks/natural.py
	@$(BIN)/python benchmarks/over_time.py
	@$(BIN)/python benchmarks/alternatives.py
	@$(BIN)/python benchmarks/run_cost.py --payments 300000 --rounds 3
	@$(BIN)/python benchmarks/run_cost.py --sizes 10000,100000 --rounds 3
	@$(BIN)/python benchmarks/run_cost.py --sizes 10000 --delay 0.25 --rounds 3
	@$(BIN)/python benchmarks/choices.py --sizes 10000 100000 --changed 1 50 --rounds 1
	@$(BIN)/python benchmarks/statement_times.py
	@$(BIN)/python benchmarks/many_models.py --models 20 --rounds 1
	@$(BIN)/python benchmarks/expiration.py --events 300000 --rounds 1
	@$(BIN)/python benchmarks/restart.py --events-a-day 1000 --history 1 4 --filters json --rounds 1

bench-full: setup ## reads of 30 million payments, runs at sizes up to 10 million, fifty models (an hour and more)
	@$(BIN)/python benchmarks/read.py --payments 30000000
	@$(BIN)/python benchmarks/over_time.py --rows 10000000 --rounds 3
	@$(BIN)/python benchmarks/alternatives.py --events 3000000 --live
	@$(BIN)/python benchmarks/run_cost.py --sizes 10000,100000,1000000,10000000
	@$(BIN)/python benchmarks/choices.py --sizes 10000 100000 1000000 3000000
	@$(BIN)/python benchmarks/many_models.py
	@$(BIN)/python benchmarks/scaling.py

demo: java $(VENV)/.demo ## the main job on the 2013 New York flights: run, look, wait, look again
	@$(BIN)/python integration_tests/demo.py

thrift: java $(VENV)/.test ## a Spark Thrift server on loopback, for target thrift
	@$(BIN)/python integration_tests/thrift_server.py

cluster: java $(VENV)/.test ## a standalone cluster on loopback: master, two workers and a Thrift server, for target thrift
	@$(BIN)/python integration_tests/spark_cluster.py

# with --quiet mkdocs would drop the warnings that strict mode counts
docs: $(VENV)/.made ## the documentation as a site, in site/: a dead link fails
	@$(BIN)/python docs/generate.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "site/index.html"

clean: ## what tests, demo and builds leave behind (not $(VENV))
	@rm -rf integration_tests/target integration_tests/logs integration_tests/tpch/target integration_tests/tpch/logs \
	  dist build site mutants .coverage .pytest_cache .ruff_cache .hypothesis
