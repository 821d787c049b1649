"""matrix.toml → sessions: one image(TARGET) a row, one plugins(FRAMEWORK, VERSION) a cell, and our own checks."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "src"))  # nox has packaging, which is all that reading the matrix needs

from rockiln.compatibility import read_compatibility  # noqa: E402  # after the path above
from rockiln.matrix import read_matrix  # noqa: E402
from rockiln.plan import make_plan, plugin_cells  # noqa: E402
from rockiln.recipe import read_recipes  # noqa: E402

PLAN = make_plan(read_matrix(ROOT / "matrix.toml"), read_recipes(ROOT / "images"), read_compatibility())
TARGETS = [nox.param(planned.id, id=planned.id) for planned in PLAN.targets]
CELLS = [
    nox.param(framework, version, id=f"{framework}, {version}")
    for framework, version in plugin_cells(PLAN)
]
DISTRIBUTIONS = sorted(
    path.parent for path in (*ROOT.glob("plugins/*/pyproject.toml"), *ROOT.glob("compat/pyproject.toml"))
)
KERNELS = ROOT / "plugins" / "rockiln-kernels"
PACK_ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1200", "gfx1201")
TORCH = ROOT / "plugins" / "rockiln-torch"
TORCH_VERSIONS = ("2.13.0", "2.7.1", "2.8.0")
JAX = ROOT / "plugins" / "rockiln-jax"
JAX_VERSIONS = ("0.6.2", "0.6.1", "0.6.0")
TENSORFLOW_VERSION = "2.19.1"
OLDER_JAX_TESTS = tuple(
    f"tests/test_{name}.py" for name in ("composed", "emulated", "lowering", "partitioned", "sharded", "plugin")
)
OLDER_TORCH = ("tests/test_import.py", "tests/test_native.py", "tests/test_opcheck.py")
OLDER_TORCH += ("tests/test_gradients.py", "tests/framework/test_edges.py")
NIGHTLY_FUZZING = ("--runs", "parsers=1000000", "--runs", "verifier=30000", "--runs", "rewrites=20000")
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True
nox.needs_version = ">=2024.10.9"


def install_rockiln(session: nox.Session, *groups: str) -> None:
    """The package, editable, with dependency groups of pyproject.toml."""
    session.install("--quiet", "-e", ".", *nox.project.dependency_groups(PYPROJECT, *groups))


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff over everything; warnings count."""
    session.install("--quiet", *nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict, over the builder."""
    install_rockiln(session, "lint")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests that this machine can run; what it lacks (Docker, user namespaces, archives) is skipped, and said."""
    install_rockiln(session, "test")
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "loadfile")))


@nox.session
def unit(session: nox.Session) -> None:
    """Unit and golden tests only: no Docker, no archives."""
    install_rockiln(session, "test")
    session.run("pytest", "tests/unit", "tests/golden", *(session.posargs or ("-n", "2")))


@nox.session
def integration(session: nox.Session) -> None:
    """The tests that take real archives, real engines, real time."""
    install_rockiln(session, "test")
    session.run("pytest", "tests/integration", *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """The tests that CI leaves out (Debian's ROCm from moving suites, published libraries), and long fuzzing."""
    install_rockiln(session, "test", "fuzz")
    session.run("python", "tests/fuzz/fuzz_slim.py", *NIGHTLY_FUZZING)
    session.notify("compat_fuzz")
    session.notify("kernels_nightly")
    for version in TORCH_VERSIONS:
        session.notify(f"torch_nightly({version})")
    session.notify("tensorflow_nightly")
    for version in JAX_VERSIONS:
        session.notify(f"jax_nightly({version})")
    session.run("pytest", *(session.posargs or ("tests/integration",)), env={"ROCKILN_NIGHTLY": "1"})


@nox.session
@nox.parametrize("target", TARGETS)
def image(session: nox.Session, target: str) -> None:
    """Build one image from the lock and smoke it; what follows -- goes to rockiln build."""
    install_rockiln(session)
    session.run("rockiln", "build", "--relock-gone", "--relock-own", "--smoke", target, *session.posargs)


@nox.session
@nox.parametrize("framework,version", CELLS)
def plugins(session: nox.Session, framework: str, version: str) -> None:
    """Test the plugin of one framework version, with the kernels and the emulator of this checkout."""
    folder = ROOT / "plugins" / f"rockiln-{framework}"
    if folder not in DISTRIBUTIONS:
        session.skip(f"no plugins/rockiln-{framework} yet")
    install_kernels(session)
    session.install("--quiet", f"{framework}=={version}", "-e", f"{folder}[test]", "-e", str(ROOT / "compat"))
    session.chdir(folder)
    session.run("pytest", *session.posargs)


@nox.session
def compat(session: nox.Session) -> None:
    """hipcompat: types and its own tests; the golden extensions where Debian's ROCm headers are to be had."""
    groups = nox.project.dependency_groups(nox.project.load_toml(ROOT / "compat" / "pyproject.toml"), "test", "lint")
    session.install("--quiet", "-e", "./compat", "-e", "./tests/gfxemu", *groups)
    headers = ROOT / "build" / "rocm-headers"
    if not headers.exists():
        session.run("python", "compat/fetch_rocm.py", str(headers), success_codes=[0, 1])
    if headers.exists():
        session.env["HIPCOMPAT_ROCM"] = str(headers / "usr")
    session.chdir("compat")
    session.run("mypy")
    session.run("ruff", "check", ".")
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "loadfile")))


@nox.session
def installed(session: nox.Session) -> None:
    """rockiln-installed, of which rockiln and hipcompat hold a copy: types, tests; each alone, by pip, has it."""
    folder = ROOT / "plugins" / "rockiln-installed"
    groups = nox.project.dependency_groups(nox.project.load_toml(folder / "pyproject.toml"), "test", "lint")
    session.install("--quiet", str(folder), *groups)
    session.install("--quiet", "--no-deps", str(ROOT), str(ROOT / "compat"))
    for package in ("rockiln_installed", "rockiln.installed", "hipcompat.installed"):
        session.run("python", "-c", f"import {package}.builds as b; assert 'site-packages' in b.__file__, b.__file__")
    session.chdir(folder)
    session.run("mypy")
    session.run("pytest", *session.posargs)


@nox.session
def facts(session: nox.Session) -> None:
    """Make hipcompat's facts.tsv anew from the packages in a folder; fetches those that are missing."""
    if len(session.posargs) != 1:
        session.error("name the folder of the packages: nox -s facts -- DIR")
    session.install("--quiet", "-e", "./compat")
    session.run("python", "compat/fetch_inputs.py", *session.posargs)
    session.run("python", "-m", "hipcompat.facts.generate", "--inputs", *session.posargs)


def install_kernels(session: nox.Session) -> None:
    """rockiln-kernels with its compiler and tests, and the emulator that they run in; editable."""
    session.install("--quiet", "-e", f"{KERNELS}[build,test]", "-e", "./tests/gfxemu", "mypy>=1.14")
    session.chdir(KERNELS)


@nox.session
def kernels(session: nox.Session) -> None:
    """rockiln-kernels: types, and its tests; each op on each arch in gfxemu, with one dtype that the commit picks."""
    install_kernels(session)
    session.run("mypy")
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "worksteal")))


@nox.session
def kernels_nightly(session: nox.Session) -> None:
    """Every op, arch, dtype; kernels compiled twice; instructions as LLVM reads them; mutants; random shapes."""
    install_kernels(session)
    whole = ("cells", "decoding", "launched", "mutation", "random_calls", "reproducible")
    arguments = session.posargs or ("-n", "2", "--dist", "worksteal", *(f"tests/test_{name}.py" for name in whole))
    session.run("pytest", *arguments, env={"ROCKILN_NIGHTLY": "1"})


def test_newest_torch(session: nox.Session, version: str, environ: dict[str, str]) -> None:
    """Types, the packs of a fake GPU, and all tests."""
    packs = str(ROOT / "build" / "torch-packs")
    install_kernels(session)
    session.install("--quiet", f"torch=={version}", "-e", f"{TORCH}[test]", "-e", str(ROOT / "compat"))
    paths = os.pathsep.join((str(TORCH / "tests"), str(KERNELS / "tests")))
    session.run("python", "-m", "fake_gpu.make_packs", packs, env={**environ, "PYTHONPATH": paths})
    session.chdir(TORCH)
    session.run("mypy")
    arguments = session.posargs or ("-n", "2", "--dist", "worksteal")
    session.run("pytest", *arguments, env={**environ, "ROCKILN_TEST_PACKS": packs})


def test_older_torch(session: nox.Session, version: str, environ: dict[str, str]) -> None:
    """Opcheck, imports and launches, in an environment that is made once and kept in the cache."""
    cache = Path(os.environ.get("ROCKILN_CACHE", "~/.cache/rockiln")).expanduser()
    folder, packs = cache / "torch-venvs" / version, ROOT / "build" / "torch-packs"
    session.chdir(TORCH)
    session.run("python", "tests/torch_versions/make_environment.py", version, str(folder))
    python, own = str(folder / "bin" / "python"), (KERNELS, TORCH, ROOT / "compat", ROOT / "tests" / "gfxemu")
    editable = [word for path in own for word in ("-e", str(path))]
    session.run(python, "-m", "pip", "install", "--quiet", "--no-deps", *editable, external=True)
    known = {**environ, "ROCKILN_TEST_PACKS": str(packs)} if packs.exists() else environ
    session.run(python, "-m", "pytest", *(session.posargs or OLDER_TORCH), external=True, env=known)


def test_torch(session: nox.Session, version: str, environ: dict[str, str]) -> None:
    """One torch's tests."""
    (test_newest_torch if version == TORCH_VERSIONS[0] else test_older_torch)(session, version, environ)


@nox.session
@nox.parametrize("version", TORCH_VERSIONS, ids=TORCH_VERSIONS)
def torch(session: nox.Session, version: str) -> None:
    """rockiln-torch: all tests on the newest torch, which makes a fake GPU's packs; opcheck and launches on others."""
    test_torch(session, version, {})


@nox.session
@nox.parametrize("version", TORCH_VERSIONS, ids=TORCH_VERSIONS)
def torch_nightly(session: nox.Session, version: str) -> None:
    """The same with nothing left to the commit's rotation: every cell, more kernels and random calls."""
    test_torch(session, version, {"ROCKILN_NIGHTLY": "1"})


def install_jax(session: nox.Session, version: str) -> None:
    """rockiln-jax with one release of JAX; its library is always built with the headers of the oldest one."""
    install_kernels(session)
    session.install("--quiet", f"jax=={version}", "-e", f"{JAX}[test]", "-e", str(ROOT / "compat"))
    session.chdir(JAX)


@nox.session(name="jax")
def jax_plugin(session: nox.Session) -> None:
    """rockiln-jax: types; its ops on JAX's CPU, its lowering for rocm, and its handler over a fake HIP and gfxemu."""
    install_jax(session, JAX_VERSIONS[0])
    session.run("mypy")
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "loadfile")))


@nox.session
@nox.parametrize("version", JAX_VERSIONS, ids=JAX_VERSIONS)
def jax_nightly(session: nox.Session, version: str) -> None:
    """All tests with nothing left out on the newest JAX; golden, lowering and native ones on the others."""
    install_jax(session, version)
    environ = {"ROCKILN_NIGHTLY": "1"} if (is_newest := version == JAX_VERSIONS[0]) else {}
    session.run("pytest", *(session.posargs or (() if is_newest else OLDER_JAX_TESTS)), env=environ)


def test_tensorflow(session: nox.Session, environ: dict[str, str]) -> None:
    """Types and all tests. TensorFlow brings an older NumPy than the kernels' tests name; they run with it, too."""
    install_kernels(session)
    session.chdir(ROOT / "plugins" / "rockiln-tensorflow")
    session.install("--quiet", f"tensorflow-cpu=={TENSORFLOW_VERSION}", "hatchling", "editables")
    session.install("--quiet", "--no-build-isolation", "-e", ".[test]", "-e", str(ROOT / "compat"))
    session.run("mypy")
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "loadfile")), env=environ)


@nox.session(name="tensorflow")
def tensorflow_plugin(session: nox.Session) -> None:
    """rockiln-tensorflow: types; its ops on TensorFlow's CPU, and its kernels over a fake HIP and gfxemu."""
    test_tensorflow(session, {})


@nox.session
def tensorflow_nightly(session: nox.Session) -> None:
    """The same with nothing left to the commit's rotation: every golden case, family and GPU, every op's slopes."""
    test_tensorflow(session, {"ROCKILN_NIGHTLY": "1"})


@nox.session
def proof(session: nox.Session) -> None:
    """The long runs of the kernels' tests whose figures are kept, and docs/proof.md, which shows them."""
    install_kernels(session)
    files = (f"tests/test_{name}.py" for name in ("decoding", "mutation", "random_calls", "reproducible"))
    kept = {"ROCKILN_NIGHTLY": "1", "ROCKILN_KEEP_FIGURES": "1"}
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "worksteal", *files)), env=kept)
    session.chdir(KERNELS / "tests")
    session.run("python", "-m", "harness.figures")


@nox.session
def support(session: nox.Session) -> None:
    """Run families of ops (all if none is named) on every arch in gfxemu; write their records and docs/support.md."""
    install_kernels(session)
    session.chdir(KERNELS / "tests")
    session.run("python", "-m", "harness.support", *session.posargs)


@nox.session
def gpu(session: nox.Session) -> None:
    """Every kernel on an NVIDIA GPU: right or wrong, and how fast. Without one it ends at once, and says so."""
    session.run("python", str(KERNELS / "tests" / "gpu" / "probe.py"))
    install_kernels(session)
    session.chdir(KERNELS / "tests")
    session.run("python", "-m", "gpu", *session.posargs)


@nox.session
def gfxemu(session: nox.Session) -> None:
    """The emulator: types and its own tests, against LLVM 19 and 22, clang 22, Triton and NumPy."""
    project = nox.project.load_toml(ROOT / "tests" / "gfxemu" / "pyproject.toml")
    groups = nox.project.dependency_groups(project, "test", "lint")
    session.install("--quiet", "-e", "./tests/gfxemu", *groups)
    session.chdir("tests/gfxemu")
    session.run("mypy")
    session.run("ruff", "check", ".")
    session.run("pytest", *(session.posargs or ("-n", "2", "--dist", "worksteal")))


@nox.session
def gfxemu_sanitize(session: nox.Session) -> None:
    """The emulator's core built with the undefined-behaviour sanitizer, under its instruction and kernel tests."""
    project = nox.project.load_toml(ROOT / "tests" / "gfxemu" / "pyproject.toml")
    session.install("--quiet", "-e", "./tests/gfxemu", *nox.project.dependency_groups(project, "test"))
    session.chdir("tests/gfxemu")
    files = session.posargs or [f"tests/test_{name}.py" for name in ("alu", "atomics", "hip", "kernels")]
    session.run("pytest", "-n", "2", "--dist", "worksteal", *files, env={"GFXEMU_SANITIZE": "undefined"})


@nox.session
@nox.parametrize("arch", PACK_ARCHS, ids=PACK_ARCHS)
def packs(session: nox.Session, arch: str) -> None:
    """Compile every kernel for one arch: build/packs/ARCH/pack, and around it a project that `wheels` builds."""
    session.install("--quiet", "-e", f"{KERNELS}[build]")
    folder = ROOT / "build" / "packs" / arch
    places = ("--output", str(folder / "pack"), "--project", str(folder / "project"))
    session.run("rockiln-kernels", "build-pack", "--arch", arch, *places, *session.posargs)


@nox.session
def compat_fuzz(session: nox.Session) -> None:
    """Fuzz hipcompat's scan and flags; what follows -- is libFuzzer's. Without: a million inputs."""
    groups = nox.project.dependency_groups(nox.project.load_toml(ROOT / "compat" / "pyproject.toml"), "fuzz")
    session.install("--quiet", "-e", "./compat", *groups)
    session.run("python", "compat/tests/fuzz/fuzz_scan.py", *(session.posargs or ("-runs=1000000", "-max_len=2048")))


@nox.session
def wheels(session: nox.Session) -> None:
    """Build the wheel of rockiln, of each own distribution and of each pack that is there into dist/, reproducibly."""
    session.install("--quiet", "build", "hatchling")
    for folder in (ROOT, *DISTRIBUTIONS, *sorted(ROOT.glob("build/packs/*/project"))):
        session.run(
            "python", "-m", "build", "--wheel", "--outdir", "dist", str(folder), env={"SOURCE_DATE_EPOCH": "315532800"}
        )


@nox.session
def bench(session: nox.Session) -> None:
    """The same content by docker build and by rockiln, as ratios in one run."""
    install_rockiln(session, "test")
    session.run("python", "tests/bench/compare_docker.py", *session.posargs)


@nox.session
def bench_slim(session: nox.Session) -> None:
    """Published ROCm libraries slimmed: bytes as promised; first --row: Debian's ROCm JAX row; --speed: seconds."""
    install_rockiln(session, "test")
    program = {"--speed": "slim_speed", "--row": "slim_row"}.get("".join(session.posargs[:1]), "slim_real")
    session.run("python", f"tests/bench/{program}.py", *session.posargs[program != "slim_real" :])


@nox.session
def bench_push(session: nox.Session) -> None:
    """The same built image by rockiln push and by skopeo copy to a Docker registry, as ratios in one run."""
    install_rockiln(session, "test")
    session.run("python", "tests/bench/push_speed.py", *session.posargs)


@nox.session
def bench_cache(session: nox.Session) -> None:
    """A row from an empty cache, without and with a registry that has its layers, or the row, as ratios in one run."""
    install_rockiln(session, "test")
    session.run("python", "tests/bench/remote_cache.py", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """The same damaged files each time through all that reads and cuts; --seconds N or --runs PART=N really fuzzes."""
    install_rockiln(session, "test", "fuzz")
    session.run("python", f"tests/fuzz/{'fuzz_slim' if session.posargs else 'replay'}.py", *session.posargs)


@nox.session
def clean(session: nox.Session) -> None:
    """Remove build/ and dist/; the cache is left alone."""
    for name in ("build", "dist"):
        shutil.rmtree(ROOT / name, ignore_errors=True)
    session.log(f"the cache stays: {os.environ.get('ROCKILN_CACHE', '~/.cache/rockiln')}")
