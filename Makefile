# `make help` says what can be asked for. Only Python 3.11 to 3.14 and make are needed (with 3.14 a C compiler too).

PYTHON ?=
SCALE ?=
ONLY ?=
V ?=

# PYTHONDONTWRITEBYTECODE goes too: without byte code every job would start in 6 s instead of 2.
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

# One thread a job and one order of hashing, so that results do not depend on the machine's cores.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
export NUMBA_NUM_THREADS = 1
export PYTHONHASHSEED = 0

.DEFAULT_GOAL := help
.PHONY: help env reproduce test test-long bench notebooks docs snapshot dist clean

help:
	@echo 'structmargin: structured prediction with large margins'
	@echo
	@echo '  make reproduce   run the experiments and write results/index.html'
	@echo '                     SCALE=smoke | standard | paper   how large (standard)'
	@echo '                     ONLY="alignment ner"             which experiments (all)'
	@echo '                     V=1                              all that Snakemake says, not only in its log'
	@echo '  make test        run every check: ruff, mypy, the workflow, the tests'
	@echo '  make test-long   try ten thousand random problems, configs and files where make test tries hundreds'
	@echo '  make bench       measure the speed beside peers and write benchmarks/README.md; ONLY=core for one'
	@echo '  make notebooks   install JupyterLab into .venv and open the notebooks'
	@echo '  make docs        install the documentation tool and build the site into build/site'
	@echo '  make snapshot    copy results to results/snapshot and renew README, documents, notebooks, the picture'
	@echo '  make dist        build the sdist and the wheel into dist/, and check them'
	@echo '  make env         set up .venv from requirements.lock; all of the above do it themselves'
	@echo '                     PYTHON=python3.12                which Python makes it (3.11 to 3.14)'
	@echo '  make clean       remove .venv, results and caches; fetched data and results/snapshot stay'

# ---- the environment ----

env: .venv/.ready

# .venv/.locked is written last and names its folder: a set-up that was interrupted, a checkout that
# was moved or a Python that is gone means a new environment.
$(shell [ -x .venv/bin/python ] && [ "$$(cat .venv/.locked 2>/dev/null)" = "$$(pwd -P)" ] \
	|| rm -f .venv/.locked .venv/.ready)

# For 3.14 one locked package (immutables) has no wheel: it is compiled, so a Python before it is taken if there is one.
SUITS := import importlib.util as u, os, shutil, sys, sysconfig as s; v = sys.version_info[:2]; \
	built = shutil.which((s.get_config_var("CC") or "cc").split()[0]) \
	and os.path.isfile(os.path.join(s.get_path("include"), "Python.h")); \
	sys.exit(2 if not (3, 11) <= v <= (3, 14) else 3 if not (u.find_spec("venv") and u.find_spec("ensurepip")) \
	else 0 if v < (3, 14) else 5 if built else 4)
PIP_INSTALL := .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile

# The lock names setuptools (one package in it is built from source) and uv (which takes seconds where
# pip takes a minute); both come first, by pip.
.venv/.locked: requirements.lock
	@python=; bare=; compiling=; alone=; \
	for p in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python3.14); do \
		"$$p" -c '$(SUITS)' >/dev/null 2>&1; \
		case $$? in 0) python=$$p; break;; 3) bare=$$p;; 4) alone=$$p;; 5) compiling=$$p;; esac; \
	done; \
	python=$${python:-$$compiling}; \
	if [ -z "$$python" ] && [ -n "$$alone" ]; then \
		echo "$$alone is Python 3.14, for which one package has to be compiled: install a C compiler and Python's" \
			"headers (gcc and python3.14-dev on Debian and Ubuntu) or name a Python 3.11 to 3.13 with PYTHON=..." >&2; exit 1; \
	elif [ -z "$$python" ] && [ -n "$$bare" ]; then \
		echo "$$bare has no venv module: install it (the package python3-venv on Debian and Ubuntu)" \
			"or name another Python 3.11 to 3.14 with PYTHON=..." >&2; exit 1; \
	elif [ -z "$$python" ]; then \
		echo "$(if $(PYTHON),$(PYTHON) is not a Python 3.11 to 3.14,No Python 3.11 to 3.14 is on the PATH):" \
			"install one, or name it with PYTHON=..." >&2; exit 1; \
	fi; \
	set -e; \
	echo "Setting up .venv from requirements.lock with $$("$$python" --version) ..."; \
	"$$python" -m venv --clear .venv; \
	awk '/^[a-z0-9]/ { part = "rest" } /^(setuptools|uv)==/ { part = substr($$1, 1, index($$1, "=") - 1) } \
		part { print > (".venv/" part ".txt") }' requirements.lock; \
	$(PIP_INSTALL) --require-hashes -r .venv/setuptools.txt; \
	index=$${PIP_INDEX_URL:-$$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)}; \
	if [ -n "$$index" ] && [ -z "$$UV_DEFAULT_INDEX" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
	$(PIP_INSTALL) --require-hashes -r .venv/uv.txt \
	&& .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation \
		--require-hashes -r .venv/rest.txt \
	|| { \
		echo "uv could not do it: pip takes over, for a minute or two ..."; \
		$(PIP_INSTALL) --no-build-isolation --use-pep517 --require-hashes -r .venv/rest.txt; \
	}
	@pwd -P > $@

.venv/.ready: .venv/.locked pyproject.toml
	@$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@
	@echo 'The environment is ready: . .venv/bin/activate'

# Peers that some machines have no wheel for: the benchmarks say what is not there.
.venv/.bench: requirements-bench.txt .venv/.locked
	@$(PIP_INSTALL) --only-binary :all: --retries 1 --require-hashes -r $< 2>/dev/null && touch $@ \
	|| echo 'Some peers could not be installed (requirements-bench.txt): their rows say so.'

# What checks a release; without it `make dist` says so and ends well.
.venv/.release: requirements-release.txt .venv/.locked
	@$(PIP_INSTALL) --retries 1 --require-hashes -r $< 2>/dev/null && touch $@ \
	|| echo 'build and twine could not be installed (requirements-release.txt).'

# JupyterLab, and the tool of the documentation site: too large for everybody's environment.
.venv/.notebooks: requirements-notebooks.txt .venv/.locked
	@echo 'Installing JupyterLab into .venv ...'
	@$(PIP_INSTALL) --retries 1 --require-hashes -r $<
	@touch $@

.venv/.docs: requirements-docs.txt .venv/.locked
	@echo 'Installing mkdocs-material into .venv ...'
	@$(PIP_INSTALL) --retries 1 --require-hashes -r $<
	@touch $@

# ---- what it is for ----

IN_ENV := PATH="$$PWD/.venv/bin:$$PATH";

# A name that is none of an experiment is told at once, before minutes of compiling.
EXPERIMENTS := $(patsubst configs/%.yaml,%,$(wildcard configs/*.yaml))

reproduce: env
	@$(IN_ENV) $(if $(filter-out $(EXPERIMENTS),$(ONLY)),,structmargin warm;) snakemake $(ONLY) $(if $(SCALE),--config scale=$(SCALE)) \
		$(if $(V),--logger-structmargin-full)

# Every check runs even after one has failed, and what pytest says comes last.
test: env
	@$(IN_ENV) failed=; \
	check() { echo "-- $$*"; "$$@" || failed="$$failed$${failed:+, }$$*"; }; \
	check ruff check; \
	check ruff format --check; \
	check mypy; \
	if [ -f Snakefile ]; then \
		check snakefmt --check Snakefile workflow; \
		check snakemake --lint; \
	fi; \
	[ -z "$$failed" ] || echo "-- failed: $$failed (the tests run all the same)"; \
	check structmargin warm; \
	echo "-- pytest"; \
	python -m pytest -q -n logical --maxprocesses 4 --dist worksteal && [ -z "$$failed" ]

# The same properties on many more cases than `make test` has time for. Measured in parts, in CPU time of one core
# with other work beside it: configs 7 minutes, random problems 3, kinds of inputs more than 7; a round of three
# damaged files 9 s (79 rounds), a damaged file of all experiments 3 s (91), a disturbed run 13 to 19 s (97). With
# the other fuzzers and the ten experiments elsewhere that is an hour or more on two cores that do nothing else.
LONG := tests/library/training/test_random_problems.py tests/library/inputs/test_product.py \
	tests/library/estimators/test_model_files.py tests/suite/planning/test_hostile_configs.py \
	tests/suite/fetching/test_download.py tests/suite/storage/test_unreadable_files.py \
	tests/suite/datasets/test_foreign_files.py tests/suite/publish/test_escapes.py \
	tests/tools/test_damaged_files.py tests/tools/test_disturbed_runs.py tests/tools/test_elsewhere.py
test-long: env
	@$(IN_ENV) STRUCTMARGIN_CASES=10000 python -m pytest -q -n logical --maxprocesses 4 --dist worksteal $(LONG)

BENCHES := $(patsubst benchmarks/bench_%.py,%,$(sort $(wildcard benchmarks/bench_*.py)))

bench: env .venv/.bench
	@$(IN_ENV) failed=; \
	for name in $(or $(ONLY),$(BENCHES)); do \
		[ -f "benchmarks/bench_$$name.py" ] || { echo "no benchmark is called $$name; there are: $(BENCHES)" >&2; exit 1; }; \
		echo "-- $$name"; \
		python "benchmarks/bench_$$name.py" || failed="$$failed $$name"; \
	done; \
	python benchmarks/readme.py; \
	[ -z "$$failed" ] || { echo "failed, and as it was before in benchmarks/README.md:$$failed" >&2; exit 1; }

notebooks: env .venv/.notebooks
	@$(IN_ENV) jupyter lab notebooks

docs: env .venv/.docs
	@$(IN_ENV) structmargin docs > /dev/null && NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict
	@echo 'The site is in build/site: open build/site/index.html, or, to have its search too,'
	@echo 'python3 -m http.server --directory build/site'

snapshot: env
	@$(IN_ENV) structmargin snapshot && structmargin docs && structmargin notebooks && structmargin picture

dist: env .venv/.release
	@if [ -f .venv/.release ]; then \
		rm -rf build dist \
		&& .venv/bin/python -m build --no-isolation --outdir dist . > .venv/build.log 2>&1 \
		&& .venv/bin/python -m twine check --strict dist/* || { tail -20 .venv/build.log; exit 1; }; \
	else echo 'nothing was built: the tests build and try the wheel all the same'; fi

clean:
	@rm -rf .venv .snakemake .cache build dist src/*.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache data/ready logs
	@if [ -d results ]; then find results/ -mindepth 1 -maxdepth 1 ! -name snapshot -exec rm -rf {} +; fi
	@find src tests benchmarks workflow -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
