"""The dispatcher over a fake HIP: what is planned once, what is refused and how, captures, forks, threads, bounds."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from fake_hip.dispatching import EMULATED, install_over, state_call
from fake_hip.libraries import build_launcher
from fake_hip.machine import FakeHip
from random_calls.calls import draw_call
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.call import ArrayValue, Call
from rockiln_kernels.dispatch import Argument, Dispatcher, HeldPlan, PlanFacts, Settings, install, read_api_address
from rockiln_kernels.dispatch import uninstall as remove
from rockiln_kernels.dispatch.abi import ABI_VERSION, LayoutError
from rockiln_kernels.launcher import LaunchError, Status
from rockiln_kernels.pack.build import build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_table

ARCH = ARCHS["gfx942"]
KEYS = {"rms_norm/bf16/row1024", "rms_norm_backward/bf16/row1024"}
STREAM = 0x5000
X = Argument(address=0x10000, shape=(4, 1024), dtype="bf16")
WEIGHT = Argument(address=0x20000, shape=(1024,), dtype="bf16")
Y = 0x30000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    variants = [item for item in make_family_variants("rms_norm", ARCH) if item.key in KEYS]
    pack = build_pack(ARCH, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
    folder = tmp_path_factory.mktemp("dispatch") / "pack"
    write_pack(pack, folder)
    return folder


@pytest.fixture
def hip() -> FakeHip:
    return FakeHip(devices=2, emulates=False)


@pytest.fixture
def dispatcher(hip: FakeHip, folder: Path) -> Iterator[Dispatcher]:
    with install_over(hip, {"gfx942": folder}) as installed:
        yield installed


def _plan(dispatcher: Dispatcher, x: Argument = X, **options: object) -> HeldPlan:
    return dispatcher.find_plan("rms_norm", [x, WEIGHT], **options)  # type: ignore[arg-type]


def _run(plan: HeldPlan, x: Argument = X, stream: int = 0) -> None:
    plan.run([x.address, WEIGHT.address], [Y], stream=stream)


def test_a_call_is_planned_once_and_launched_each_time(dispatcher: Dispatcher, hip: FakeHip) -> None:
    before = dispatcher.count()
    for _ in range(3):
        _run(_plan(dispatcher))
    after = dispatcher.count()
    assert (after["hits"] - before["hits"], after["misses"] - before["misses"], after["plans"]) == (2, 1, 1)
    assert (hip.count("loads"), hip.count("launches")) == (1, 3)


def test_a_plan_says_who_runs_it_and_what_it_needs(dispatcher: Dispatcher) -> None:
    facts = _plan(dispatcher, scalars=[("f32", 1e-5)]).facts
    assert (facts.provider, facts.kernel, facts.arch) == ("pack", "rms_norm/bf16/row1024", "gfx942")
    assert facts.reason.startswith("emulated only, taken on request")
    assert facts.call == "x=bf16[4,1024] weight=bf16[1024] eps=1e-05"
    [output] = facts.outputs
    assert (output.name, output.shape, output.dtype) == ("y", (4, 1024), "bf16")
    assert (facts.workspace_bytes, facts.launches) == (0, 1)


def test_what_decides_a_plan_is_in_its_key(dispatcher: Dispatcher) -> None:
    _plan(dispatcher)
    others = [
        replace(X, shape=(5, 1024)),
        replace(X, strides=(2048, 1)),
        replace(X, address=X.address + 16),
        replace(X, shape=(2, 2, 1024)),
    ]
    for other in others:
        _plan(dispatcher, other)
    _plan(dispatcher, scalars=[("f32", 1e-5)])
    _plan(dispatcher, device=1)
    assert dispatcher.count()["plans"] == 1 + len(others) + 2
    _plan(dispatcher, replace(X, strides=(1024, 1)))  # what null strides mean
    _plan(dispatcher, replace(X, address=X.address + 256))
    assert dispatcher.count()["plans"] == 1 + len(others) + 2


def test_leading_dims_come_back_in_outputs(dispatcher: Dispatcher) -> None:
    assert _plan(dispatcher, replace(X, shape=(2, 3, 1024))).facts.outputs[0].shape == (2, 3, 1024)
    assert _plan(dispatcher, replace(X, shape=(1024,))).facts.outputs[0].shape == (1024,)
    both = [replace(X, shape=(2, 3, 1024)), replace(X, shape=(2, 3, 1024)), WEIGHT]
    outputs = dispatcher.find_plan("add_rms_norm_fp8", both, dtypes=["e4m3fnuz"]).facts.outputs
    assert [item.shape for item in outputs] == [(2, 3, 1024), (6,), (2, 3, 1024)]
    assert [item.dtype for item in outputs] == ["e4m3fnuz", "f32", "bf16"]


def test_strided_rows_run_and_other_strides_are_a_matter_of_layout(dispatcher: Dispatcher) -> None:
    strided = replace(X, strides=(2048, 1))
    _run(_plan(dispatcher, strided), strided)
    with pytest.raises(LayoutError, match="x is not contiguous within a row"):
        _plan(dispatcher, replace(X, strides=(1, 4)))
    with pytest.raises(LayoutError, match="leading dims are not contiguous"):
        _plan(dispatcher, replace(X, shape=(2, 2, 1024), strides=(4096, 1024, 1)))


def test_what_is_no_call_is_a_type_or_a_value_error_with_the_shapes(dispatcher: Dispatcher) -> None:
    with pytest.raises(NotImplementedError, match="there is no op called 'nothing'"):
        dispatcher.find_plan("nothing", [X])
    with pytest.raises(TypeError, match="weight is missing"):
        dispatcher.find_plan("rms_norm", [X])
    with pytest.raises(TypeError, match="weight is f32, other arrays are bf16"):
        dispatcher.find_plan("rms_norm", [X, replace(WEIGHT, dtype="f32")])
    with pytest.raises(TypeError, match="3 inputs, it takes 2"):
        dispatcher.find_plan("rms_norm", [X, WEIGHT, X])
    with pytest.raises(TypeError, match="eps is an integer, not f32"):
        _plan(dispatcher, scalars=[("i32", 1)])
    with pytest.raises(TypeError, match="0 dtypes, it takes 1: Q"):
        dispatcher.find_plan("rms_norm_fp8", [X, WEIGHT])
    with pytest.raises(TypeError, match="Q = f32 is not one of e4m3"):
        dispatcher.find_plan("rms_norm_fp8", [X, WEIGHT], dtypes=["f32"])
    with pytest.raises(ValueError, match=r"weight has N = 1024, expected 1000 \[x=bf16\[4,1000\] weight=.*\]"):
        _plan(dispatcher, replace(X, shape=(4, 1000)))
    assert dispatcher.count()["plans"] == 0


def test_without_proof_the_framework_runs_it_and_the_plan_says_why(hip: FakeHip, folder: Path) -> None:
    quiet = {"ROCKILN_RECORDS": "/nowhere"}
    with install_over(hip, {"gfx942": folder}, environ=quiet) as dispatcher:
        plan = _plan(dispatcher)
        assert (plan.facts.provider, plan.facts.kernel, plan.facts.launches) == ("framework", "", 0)
        assert plan.facts.reason.startswith("emulated only: there is no hardware record")
        assert plan.facts.outputs[0].shape == (4, 1024)
        with pytest.raises(LaunchError, match="the plan is not the pack's to run: emulated only"):
            _run(plan)
        with pytest.raises(RuntimeError, match="rms_norm on gfx942 would go to framework"):
            _plan(dispatcher, strict=True)
    strict = quiet | {"ROCKILN_STRICT": "1"}
    missing = pytest.raises(RuntimeError, match="no pack for gfx942 is installed")
    with install_over(hip, {}, environ=strict) as dispatcher, missing:
        _plan(dispatcher)


def test_only_who_can_call_aiter_gets_its_plans(hip: FakeHip) -> None:
    array = ArrayValue(shape=(4, 1024), strides=(1024, 1), dtype="bf16")
    weight = ArrayValue(shape=(1024,), strides=(1,), dtype="bf16")
    call = Call(op="rms_norm", arrays={"x": array, "weight": weight})
    with install_over(hip, {}, environ={"ROCKILN_RECORDS": "/nowhere"}) as dispatcher:
        planner = dispatcher.planner
        assert planner.make_plan(call, "gfx942", judge_aiter=lambda *_: "").provider == "aiter"
        assert planner.make_plan(call, "gfx942").provider == "framework"
        assert _plan(dispatcher).facts.provider == "framework"


def test_no_rows_launch_nothing(dispatcher: Dispatcher, hip: FakeHip) -> None:
    plan = _plan(dispatcher, Argument(address=0, shape=(0, 1024), dtype="bf16"))
    assert plan.facts.outputs[0].shape == (0, 1024)
    plan.run([0, WEIGHT.address], [0])
    assert hip.count("launches") == 0


def test_a_run_checks_its_addresses_before_it_launches(dispatcher: Dispatcher, hip: FakeHip) -> None:
    plan = _plan(dispatcher)
    with pytest.raises(LaunchError, match=r"rms_norm \[x=bf16\[4,1024\] .*input 0 has no address"):
        plan.run([0, WEIGHT.address], [Y])
    with pytest.raises(LaunchError, match="output y has no address"):
        plan.run([X.address, WEIGHT.address], [0])
    with pytest.raises(LaunchError, match="1 inputs and 1 outputs, not 2 and 1"):
        plan.run([X.address], [Y])
    with pytest.raises(LaunchError, match=r"is no multiple of 16, which the code relies on"):
        plan.run([X.address, WEIGHT.address], [Y + 2])
    backward = dispatcher.find_plan("rms_norm_backward", [X, X, WEIGHT])
    assert backward.facts.workspace_bytes % 256 == 0
    assert backward.facts.launches == 2
    with pytest.raises(LaunchError, match="there is no workspace"):
        backward.run([X.address, X.address, WEIGHT.address], [Y, Y])
    assert hip.count("launches") == 0
    backward.run([X.address, X.address, WEIGHT.address], [Y, Y], workspace=0x40000)
    assert hip.count("launches") == 2


def test_a_capture_gets_all_of_a_plan_or_nothing(dispatcher: Dispatcher, hip: FakeHip) -> None:
    hip.begin_capture(STREAM)
    plan = _plan(dispatcher)  # planning loads nothing
    with pytest.raises(LaunchError, match="call it once, or rockiln_preload_plan, before the capture") as caught:
        _run(plan, stream=STREAM)
    assert caught.value.status is Status.CAPTURING
    assert (hip.count("loads"), hip.count("launches")) == (0, 0)
    hip.end_capture(STREAM)
    plan.preload()
    hip.begin_capture(STREAM)
    _run(plan, stream=STREAM)
    hip.end_capture(STREAM)
    assert (hip.count("loads"), hip.count("launches")) == (1, 1)


def test_the_cache_is_bounded_and_held_plans_outlive_it(hip: FakeHip, folder: Path) -> None:
    with install_over(hip, {"gfx942": folder}, capacity=4) as dispatcher:
        first = _plan(dispatcher)
        evicted = dispatcher.count()["evictions"]
        for rows in range(5, 15):
            _plan(dispatcher, replace(X, shape=(rows, 1024)))
        counts = dispatcher.count()
        assert (counts["plans"], counts["evictions"] - evicted) == (4, 7)
        _run(first)
        listed = dispatcher.list_plans()
        assert [item.facts.outputs[0].shape[0] for item in listed] == [14, 13, 12, 11]
        dispatcher.refresh()
        assert dispatcher.list_plans() == ()
        _run(listed[0])
    assert hip.count("launches") == 2


def test_what_is_used_stays_and_its_hits_are_counted(hip: FakeHip, folder: Path) -> None:
    with install_over(hip, {"gfx942": folder}, capacity=2) as dispatcher:
        for rows in range(5, 10):
            _plan(dispatcher)
            _plan(dispatcher, replace(X, shape=(rows, 1024)))
        assert _plan(dispatcher).hits == 5


def test_a_child_plans_anew_and_a_parents_plan_is_stale_there(dispatcher: Dispatcher) -> None:
    plan = _plan(dispatcher)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with pytest.raises(LaunchError, match="found before a fork") as caught:
                _run(plan)
            assert caught.value.status is Status.STALE
            assert dispatcher.count()["plans"] == 0
            _run(_plan(dispatcher))
            os.write(writing, b"right")
        finally:
            os._exit(0)
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reading, 16) == b"right"
    os.close(reading)
    _run(plan)


def test_many_threads_share_plans(dispatcher: Dispatcher, hip: FakeHip) -> None:
    def call(number: int) -> str:
        x = replace(X, shape=(1 + number % 8, 1024))
        plan = _plan(dispatcher, x)
        _run(plan, x)
        return plan.facts.call

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(call, range(256)))
    assert texts == [f"x=bf16[{1 + number % 8},1024] weight=bf16[1024]" for number in range(256)]
    assert (dispatcher.count()["plans"], hip.count("loads"), hip.count("launches")) == (8, 1, 256)


def test_an_observer_sees_each_call(dispatcher: Dispatcher) -> None:
    seen: list[PlanFacts] = []
    with dispatcher.observe(seen.append):
        _plan(dispatcher)
        _plan(dispatcher)
    _plan(dispatcher)
    assert [facts.kernel for facts in seen] == ["rms_norm/bf16/row1024"] * 2


def test_a_damaged_pack_is_the_planners_failure_in_words(hip: FakeHip, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    damaged = pytest.raises(LaunchError, match=r"ValueError: .*manifest\.json: not a pack manifest")
    with install_over(hip, {"gfx942": tmp_path}) as dispatcher, damaged as caught:
        _plan(dispatcher)
    assert caught.value.status is Status.PLANNER


def test_without_a_planner_or_a_gpu_the_message_says_what_to_do(dispatcher: Dispatcher, folder: Path) -> None:
    with pytest.raises(LaunchError, match=r"there is no device 7|invalid device") as caught:
        _plan(dispatcher, device=7)
    assert caught.value.status in {Status.NO_DEVICE, Status.DRIVER}
    remove()
    with pytest.raises(LaunchError, match=r"call rockiln_kernels\.dispatch\.install\(\)") as caught:
        _plan(dispatcher)
    assert caught.value.status is Status.NO_PLANNER
    with pytest.raises(LaunchError, match=r"call rockiln_kernels\.dispatch\.install\(\) first"):
        read_api_address()
    absent = install(Settings(driver="libnothing.so.7", library=build_launcher(), packs={"gfx942": folder}))
    with pytest.raises(LaunchError, match=r"no GPU runtime could be opened: libnothing\.so\.7"):
        _plan(absent)


def test_a_second_install_without_settings_changes_nothing(dispatcher: Dispatcher) -> None:
    _plan(dispatcher)
    assert install() is dispatcher
    assert install(dispatcher.settings) is dispatcher
    assert dispatcher.count()["plans"] == 1


@pytest.mark.usefixtures("dispatcher")
def test_an_adapter_gets_all_functions_by_one_address() -> None:
    size, version = (ctypes.c_uint32 * 2).from_address(read_api_address())
    assert (size, version) == (8 + 7 * ctypes.sizeof(ctypes.c_void_p), ABI_VERSION)


def test_any_arch_is_planned_without_a_gpu(folder: Path) -> None:
    installed = install(Settings(library=build_launcher(), packs={"gfx942": folder}, environ=EMULATED))
    call = draw_call(read_table()["rms_norm"], Random(0))  # noqa: S311  # tests
    plan = installed.planner.make_plan(call, "gfx1100")
    assert (plan.provider, plan.arch) == ("framework", "gfx1100")
    remove()


def test_random_calls_get_a_plan_or_a_reason(dispatcher: Dispatcher) -> None:
    random, planned = Random(5), 0  # noqa: S311  # tests
    reasons: list[tuple[str, str]] = []
    for spec in read_table().values():
        for _ in range(8):
            stated = state_call(spec, draw_call(spec, random), {})
            try:
                plan = stated.find_plan(dispatcher)
            except (TypeError, ValueError) as error:
                reasons.append((spec.name, str(error)))
            else:
                reasons.append((spec.name, f"{plan.facts.op}: {plan.facts.reason}"))
                planned += 1
    assert planned > 100
    assert [item for item in reasons if not item[1].startswith(item[0])] == []
