"""NVIDIA's documented nvcc options → one row each.

Source: "CUDA Compiler Driver NVCC", chapter "NVCC Command Options" (docs.nvidia.com/cuda/cuda-compiler-driver-nvcc).
"""

from __future__ import annotations

from dataclasses import replace

from hipcompat.flags import choices
from hipcompat.flags.option import Option, choose_by_value, drop, keep, keep_value, refuse

NO_PTXAS = "there is no ptxas or nvlink; the AMDGPU backend takes no such option"
NVCC_ONLY = "it steers nvcc's own phases"
CLANG_ALLOWS = "clang always allows it in HIP"
EDG = "numbers of the EDG front end; clang's warnings have names (-Wno-...)"
WINDOWS = "it is for Windows"
ARCH = "NVIDIA's architectures mean nothing here; name AMD's with --arch (clang: --offload-arch)"
RDC = "device code is linked when the host program is; link with --hip-link -fgpu-rdc"
USAGE = "-Rpass-analysis=kernel-resource-usage"

FILES = (
    keep_value("--output-file", "-o", gives="-o {}"),
    keep_value("--pre-include", "-include", gives="-include {}", splits=True),
    choose_by_value("--library", "-l", choose=choices.choose_library, joined=True, splits=True),
    choose_by_value("--define-macro", "-D", choose=choices.choose_define, joined=True),
    choose_by_value("--undefine-macro", "-U", choose=choices.choose_undefine, joined=True, splits=True),
    choose_by_value("--include-path", "-I", choose=choices.choose_include, joined=True, splits=True),
    keep_value("--system-include", "-isystem", gives="-isystem {}", splits=True),
    choose_by_value("--library-path", "-L", choose=choices.choose_library_path, joined=True, splits=True),
    refuse("--output-directory", "-odir", value=True, reason="clang has no output folder; give each file its -o"),
    keep_value("--dependency-output", "-MF", gives="-MF {}"),
    keep_value("--dependency-target-name", "-MT", gives="-MT {}"),
    keep("--generate-dependency-targets", "-MP"),
    drop("--compiler-bindir", "-ccbin", value=True, reason="clang compiles the host side itself"),
    drop("--allow-unsupported-compiler", "-allow-unsupported-compiler", reason="clang compiles the host side itself"),
    drop("--archiver-binary", "-arbin", value=True, reason=NVCC_ONLY),
    drop("--cudart", "-cudart", value=True, reason="libamdhip64 is a shared library only"),
    drop("--cudadevrt", "-cudadevrt", value=True, reason="HIP has no device runtime"),
    drop("--libdevice-directory", "-ldir", value=True, reason="clang finds ROCm's device libraries (--rocm-path)"),
    drop("--target-directory", "-target-dir", value=True, reason="it names a folder of the CUDA toolkit"),
    drop("--objdir-as-tempdir", "-objtemp", reason=NVCC_ONLY),
    refuse("--options-file", "-optf", value=True, reason="put the file's text on the command line: it is nvcc's"),
)

PHASES = (
    drop("--link", "-link", reason="it is what clang does without -c"),
    refuse("--lib", "-lib", reason="clang makes no archives: compile with -c and use llvm-ar"),
    refuse("--device-link", "-dlink", reason=RDC),
    drop("--no-device-link", "-nodlink", reason=RDC),
    keep("--device-c", "-dc", gives="-fgpu-rdc -c", reason="relocatable device code"),
    keep("--device-w", "-dw", gives="-c"),
    refuse("--cuda", "-cuda", reason="clang does not write an intermediate C++ file"),
    keep("--compile", "-c"),
    keep("--fatbin", "-fatbin", gives="--offload-device-only -c", reason="the bundle of code objects"),
    keep("--cubin", "-cubin", gives="--offload-device-only -c --no-gpu-bundle-output", reason="one code object"),
    keep("--ptx", "-ptx", gives="--offload-device-only -S", reason="AMD's assembly takes the place of PTX"),
    refuse("--optix-ir", "-optix-ir", reason="OptiX is NVIDIA's"),
    refuse("--ltoir", "-ltoir", reason="LTO IR is NVIDIA's"),
    keep("--preprocess", "-E"),
    keep("--generate-dependencies", "-M"),
    keep("--generate-nonsystem-dependencies", "-MM"),
    keep("--generate-dependencies-with-compile", "-MD"),
    keep("--generate-nonsystem-dependencies-with-compile", "-MMD"),
    refuse("--run", "-run", reason="clang runs nothing"),
)

BEHAVIOUR = (
    keep("--profile", "-pg"),
    keep("--debug", "-g"),
    keep("--device-debug", "-G", gives="-ggdb -O0", reason="clang has one debug switch for both sides"),
    keep("--generate-line-info", "-lineinfo", gives="-gline-tables-only"),
    drop("--extensible-whole-program", "-ewp", reason=NO_PTXAS),
    drop("--no-compress", "-no-compress", reason="clang's bundles are not compressed by default"),
    drop("--compress-mode", "-compress-mode", value=True, reason="clang has --offload-compress"),
    drop("--optimization-info", "-opt-info", value=True, reason="clang has -Rpass=inline"),
    choose_by_value("--optimize", "-O", choose=choices.choose_optimization, joined=True, next_values=choices.LEVELS),
    drop("--dopt", "-dopt", value=True, reason="device code is optimized as -O says"),
    drop("--ofast-compile", "-Ofc", value=True, reason=NO_PTXAS),
    keep("--dlink-time-opt", "-dlto", gives="-fgpu-rdc -foffload-lto", reason="LTO over relocatable device code"),
    keep("--lto", "-lto", gives="-fgpu-rdc -foffload-lto", reason="LTO over relocatable device code"),
    drop("--gen-opt-lto", "-gen-opt-lto", reason=NO_PTXAS),
    drop("--split-compile", "-split-compile", value=True, reason="it is about compile time only"),
    drop("--split-compile-extended", "-split-compile-extended", value=True, reason="it is about compile time only"),
    keep_value("--ftemplate-backtrace-limit", "-ftemplate-backtrace-limit", gives="-ftemplate-backtrace-limit={}"),
    keep_value("--ftemplate-depth", "-ftemplate-depth", gives="-ftemplate-depth={}"),
    keep("--no-exceptions", "-noeh", gives="-fno-exceptions"),
    keep("--shared", "-shared"),
    choose_by_value("--x", "-x", choose=choices.choose_language),
    keep_value("--std", "-std", gives="-std={}"),
    drop("--no-host-device-initializer-list", "-nohdinitlist", reason=NVCC_ONLY),
    drop("--no-host-device-move-forward", "-no-host-device-move-forward", reason=NVCC_ONLY),
    drop("--expt-relaxed-constexpr", "-expt-relaxed-constexpr", reason=CLANG_ALLOWS),
    drop("--extended-lambda", "-extended-lambda", reason=CLANG_ALLOWS),
    drop("--expt-extended-lambda", "-expt-extended-lambda", reason=CLANG_ALLOWS),
    choose_by_value("--machine", "-m", choose=choices.choose_machine),
    keep("--m64", "-m64"),
    drop("--host-linker-script", "-hls", value=True, reason=NVCC_ONLY),
    drop("--augment-host-linker-script", "-aug-hls", reason=NVCC_ONLY),
    keep("--host-relocatable-link", "-r"),
    keep_value("--frandom-seed", "-frandom-seed", gives="-frandom-seed={}"),
    drop("--orig-src-path-name", "-orig-src-path-name", value=True, reason=NVCC_ONLY),
)

PASSED_ON = tuple(replace(option, takes_options=True) for option in (
    keep_value("--compiler-options", "-Xcompiler", gives="{}", splits=True),
    choose_by_value("--linker-options", "-Xlinker", choose=choices.choose_linker_option, splits=True),
    drop("--archive-options", "-Xarchive", value=True, reason="clang makes no archives"),
    choose_by_value("--ptxas-options", "-Xptxas", choose=choices.choose_ptxas, splits=True),
    drop("--nvlink-options", "-Xnvlink", value=True, reason=NO_PTXAS),
    drop("-Xcudafe", "--cudafe-options", value=True, reason=EDG),
    drop("-Xcicc", "--cicc-options", value=True, reason="there is no cicc"),
    drop("-Xfatbin", "--fatbin-options", value=True, reason="clang-offload-bundler takes the place of fatbinary"),
    refuse("--run-args", "-run-args", value=True, reason="clang runs nothing"),
))  # fmt: skip

GUIDING = (
    drop("--static-global-template-stub", "-static-global-template-stub", value=True, reason=NVCC_ONLY),
    drop("--device-entity-has-hidden-visibility", "-device-entity-has-hidden-visibility", value=True, reason=NVCC_ONLY),
    drop("--forward-unknown-to-host-compiler", "-forward-unknown-to-host-compiler", reason="clang reads all of it"),
    drop("--forward-unknown-to-host-linker", "-forward-unknown-to-host-linker", reason="clang reads all of it"),
    drop("--forward-unknown-opts", "-forward-unknown-opts", reason="clang reads all of it"),
    drop("--forward-slash-prefix-opts", "-forward-slash-prefix-opts", reason=WINDOWS),
    drop("--dont-use-profile", "-noprof", reason="clang reads no nvcc.profile"),
    drop("--threads", "-t", value=True, reason="it is about compile time only (hipcc: -parallel-jobs=N)"),
    keep("--dryrun", "-dryrun", gives="-###"),
    keep("--verbose", "-v"),
    keep("--keep", "-keep", gives="-save-temps"),
    keep("--save-temps", "-save-temps"),
    drop("--keep-dir", "-keep-dir", value=True, reason="clang keeps them beside the output (-save-temps=obj)"),
    drop("--clean-targets", "-clean", reason=NVCC_ONLY),
    drop("--time", "-time", value=True, reason="clang has -ftime-report"),
    drop("--use-local-env", "-use-local-env", reason=WINDOWS),
    drop("--input-drive-prefix", "-idp", value=True, reason=WINDOWS),
    drop("--dependency-drive-prefix", "-ddp", value=True, reason=WINDOWS),
    drop("--drive-prefix", "-dp", value=True, reason=WINDOWS),
    drop("--no-align-double", "-no-align-double", reason="ROCm is 64-bit only"),
    choose_by_value("--default-stream", "-default-stream", choose=choices.choose_stream),
    keep("--fdevice-syntax-only", "-fdevice-syntax-only", gives="--offload-device-only -fsyntax-only"),
    drop("--fdevice-time-trace", "-fdevice-time-trace", value=True, reason="clang has -ftime-trace"),
    drop("--minimal", "-minimal", reason=NVCC_ONLY),
    drop("--qpp-config", "-qpp-config", value=True, reason="QNX is not supported"),
    keep("--version", "-V", gives="--version"),
    keep("--help", "-h", gives="--help"),
    drop("--list-gpu-code", "-code-ls", reason=ARCH),
    drop("--list-gpu-arch", "-arch-ls", reason=ARCH),
)

GPU = (
    drop("--gpu-architecture", "-arch", value=True, reason=ARCH),
    drop("--gpu-code", "-code", value=True, reason=ARCH),
    drop("--generate-code", "-gencode", value=True, reason=ARCH),
    choose_by_value("--relocatable-device-code", "-rdc", choose=choices.choose_rdc),
    drop("--entries", "-e", value=True, reason=NO_PTXAS),
    drop("--maxrregcount", "-maxrregcount", value=True, reason="no such switch: write __launch_bounds__"),
    choose_by_value("--ftz", "-ftz", choose=choices.choose_ftz),
    choose_by_value("--prec-div", "-prec-div", choose=choices.choose_precision),
    choose_by_value("--prec-sqrt", "-prec-sqrt", choose=choices.choose_precision),
    choose_by_value("--fmad", "-fmad", choose=choices.choose_contraction),
    keep("--use_fast_math", "-use_fast_math", gives=" ".join(choices.FAST_MATH),
         reason="the four things that nvcc's switch means, for device code only"),
    drop("--extra-device-vectorization", "-extra-device-vectorization", reason=NO_PTXAS),
    drop("--keep-device-functions", "-keep-device-functions", reason=NO_PTXAS),
    drop("--jump-table-density", "-jtd", value=True, reason=NO_PTXAS),
    drop("--device-stack-protector", "-device-stack-protector", value=True, reason="the AMDGPU backend has none"),
    drop("--compile-as-tools-patch", "-astoolspatch", reason=NO_PTXAS),
    drop("--source-in-ptx", "-src-in-ptx", reason="there is no PTX"),
    drop("--restrict", "-restrict", reason="clang has no switch for it; write __restrict__ at the parameters"),
    keep("--resource-usage", "-res-usage", gives=USAGE),
)  # fmt: skip

WARNINGS = (
    keep("--disable-warnings", "-w"),
    drop("--Wno-deprecated-gpu-targets", "-Wno-deprecated-gpu-targets", reason=ARCH),
    keep("--Wno-deprecated-declarations", "-Wno-deprecated-declarations"),
    keep("--Wreorder", "-Wreorder"),
    drop("--Wdefault-stream-launch", "-Wdefault-stream-launch", reason="clang has no such warning"),
    drop("--Wmissing-launch-bounds", "-Wmissing-launch-bounds", reason="clang has no such warning"),
    drop("--Wext-lambda-captures-this", "-Wext-lambda-captures-this", reason="clang has no such warning"),
    choose_by_value(
        "--Werror", "-Werror", choose=choices.choose_werror, splits=True, next_values=choices.WARNING_KINDS
    ),
    drop("--display-error-number", "-err-no", reason=EDG),
    drop("--no-display-error-number", "-no-err-no", reason=EDG),
    drop("--diag-error", "-diag-error", value=True, reason=EDG),
    drop("--diag-suppress", "-diag-suppress", value=True, reason=EDG),
    drop("--diag-warn", "-diag-warn", value=True, reason=EDG),
    drop("--brief-diagnostics", "-brief-diag", value=True, reason=EDG),
)

OPTIONS: tuple[Option, ...] = (*FILES, *PHASES, *BEHAVIOUR, *PASSED_ON, *GUIDING, *GPU, *WARNINGS)

BY_NAME = {name: option for option in OPTIONS for name in option.names}
