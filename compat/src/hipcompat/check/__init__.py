"""Sources and architectures → whether their device code compiles and assembles, and what the compiler says if not."""

from hipcompat.check.compile import Options, Outcome, check_files
from hipcompat.check.diagnostics import Diagnostic
from hipcompat.check.toolchain import Toolchain, find_rocm, find_toolchain

__all__ = ["Diagnostic", "Options", "Outcome", "Toolchain", "check_files", "find_rocm", "find_toolchain"]
