"""The table of rules, and a rule's id + a place + evidence → Finding. docs/audit.md says the same in more words."""

from __future__ import annotations

from dataclasses import dataclass

from rockiln.audit.finding import Family, Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one id stands for. Ids are stable: people's exceptions and dashboards name them."""

    id: str
    family: Family
    severity: Severity
    meaning: str
    remedy: str


def _rule(family: Family, severity: Severity, id: str, meaning: str, remedy: str) -> Rule:  # noqa: A002
    return Rule(id=id, family=family, severity=severity, meaning=meaning, remedy=remedy)


_TABLE = (
    _rule("identity", "error", "torch-not-hip", "torch in a ROCm image is a build for CUDA or for CPUs",
          "install torch from the ROCm index alone (--index-url, not --extra-index-url) and after everything else"),
    _rule("identity", "error", "cuda-package", "a package that serves NVIDIA GPUs only is in a ROCm image",
          "remove it, and find out what asked for it: a dependency of a CUDA build, as a rule"),
    _rule("identity", "error", "torch-family-mixed", "torch and its family come from different indexes or releases",
          "install torch, torchvision, torchaudio and triton in one step from one index"),
    _rule("identity", "error", "jax-versions-differ", "jax, jaxlib and the plugins are of different versions",
          "pin all of them to one version"),
    _rule("identity", "error", "editable-install", "a package is installed in editable mode: its code is elsewhere",
          "install a wheel of it"),
    _rule("identity", "warning", "path-file-leads-out", "a .pth file adds a folder that the image does not have",
          "remove the .pth file, or bring the folder"),
    _rule("identity", "error", "distribution-twice", "two versions of one distribution lie in one folder",
          "uninstall both and install one"),
    _rule("identity", "error", "record-collision", "two distributions claim one file with different contents",
          "keep one of them: the last to be installed has overwritten the other"),
    _rule("identity", "warning", "record-differs", "a file is not the one that its distribution's RECORD vouches for",
          "install the distribution anew, or correct RECORD in the step that changes the file"),
    _rule("identity", "warning", "record-missing", "files of a distribution's RECORD are not in the image",
          "install the distribution anew, or take the rows out of RECORD in the step that removes the files"),
    _rule("identity", "error", "freeze-changed", "a package is not of the version that the image's own record names",
          "find the step that replaced it: constraints that hold for every later step prevent it"),
    _rule("identity", "error", "promise-unreadable", "/etc/rockiln/version.json, the image's own record, is damaged",
          "write it anew as the build did: the audit cannot hold the image to what is not said"),
    _rule("elf", "error", "needed-missing", "a library that a file links is nowhere in the image",
          "install the package that brings it"),
    _rule("elf", "error", "needed-unreachable", "a library that a file links is in the image, where nothing looks",
          "add its folder to /etc/ld.so.conf.d and run ldconfig, or give the file a RUNPATH"),
    _rule("elf", "note", "needed-preloaded", "a file links a library that Python must have loaded before",
          "nothing, if the package that brings the library is always imported first"),
    _rule("elf", "note", "needs-cuda", "a file links CUDA libraries and will never load here",
          "drop it: it is only weight"),
    _rule("elf", "error", "version-too-new", "a file wants a newer C or C++ library than the image has",
          "take a build for this system (an older manylinux tag), or a newer base system"),
    _rule("elf", "error", "version-missing", "a file wants a symbol version that the library in the image lacks",
          "install the library's version that the file was built against"),
    _rule("elf", "error", "symbol-undefined", "a file wants functions that no library in the image defines",
          "install builds that belong together: the file was made for another version of a library"),
    _rule("elf", "error", "interpreter-missing", "a program asks for a loader that the image does not have",
          "take a build for this system's C library"),
    _rule("elf", "warning", "library-twice", "two different copies of one library can be loaded",
          "keep one copy, and let a link stand for the other"),
    _rule("elf", "error", "dlopen-missing", "a library that is opened by name at run time is not in the image",
          "install the package that brings it"),
    _rule("elf", "warning", "runpath-unsafe", "a RUNPATH leads to a folder that others may write to, or to none",
          "remove the entry: patchelf --set-rpath"),
    _rule("elf", "note", "runpath-nowhere", "a RUNPATH names a folder that the image does not have",
          "nothing, if the libraries are found elsewhere"),
    _rule("elf", "error", "library-path-set", "LD_LIBRARY_PATH is set: it goes before every RUNPATH of every program",
          "use /etc/ld.so.conf.d and ldconfig instead"),
    _rule("elf", "warning", "loader-cache-stale", "a folder of ld.so.conf holds libraries that ld.so.cache lacks",
          "run ldconfig in the same step that installs libraries"),
    _rule("elf", "warning", "unreadable", "a file looks like an ELF file or device code, and cannot be read as such",
          "look at the file; a cut download, as a rule"),
    _rule("archs", "error", "code-missing", "a library holds device code, but none for a GPU that the image promises",
          "take a build for that GPU, or do not promise it"),
    _rule("archs", "warning", "code-unwanted", "a file holds device code for GPUs that nobody asked for",
          "rockiln slim takes it out"),
    _rule("archs", "error", "data-missing", "a library's kernels for a promised GPU are not in its data folder",
          "install the data of that GPU: without them the library aborts at the first call"),
    _rule("archs", "note", "tuning-missing", "no tuning data for a promised GPU: slower, not wrong",
          "install MIOpen's kernel package of that GPU, if there is one"),
    _rule("archs", "error", "code-misnamed", "a file's name says one GPU and its code another",
          "install the package anew"),
    _rule("archs", "error", "label-differs", "the image's label promises other GPUs than its own record",
          "write the label from the same value as the record"),
    _rule("kernels", "error", "pack-empty", "a kernel pack holds no kernels",
          "build the pack anew: its compiler failed, or nothing was asked of it"),
    _rule("kernels", "error", "pack-incomplete", "a pack lacks a kernel that its manifest or the plugin promises",
          "build the pack anew for this arch"),
    _rule("kernels", "error", "pack-damaged", "a pack's file is missing or is not the one of its manifest",
          "install the pack anew"),
    _rule("kernels", "error", "pack-arch-missing", "no kernel pack serves a promised GPU",
          "add the pack of that arch to the image"),
    _rule("kernels", "error", "amdsmi-without-library", "the Python package amdsmi is here, and libamd_smi is not",
          "install amd-smi-lib, or remove amdsmi: import torch fails where only one of both is there"),
    _rule("kernels", "error", "linker-missing", "what compiles kernels at run time finds no ld.lld",
          "install lld, or set the variable that names it"),
    _rule("kernels", "warning", "compiler-missing", "Triton compiles its launcher with a C compiler, and there is none",
          "install gcc, libc6-dev and Python's headers"),
    _rule("kernels", "warning", "prebuilt-missing", "a kernel library came without kernels, and compiles at first use",
          "build its kernels when the image is built"),
    _rule("leaks", "error", "mirror-named", "the image names a host of the network that built it",
          "remove it in the step that writes it; what a later layer hides can still be read"),
    _rule("leaks", "error", "url-with-password", "a URL with a password is in the image",
          "use a build secret, and change the password"),
    _rule("leaks", "error", "secret-file", "a file for passwords, tokens or keys is in the image",
          "remove it in the step that writes it, and change what it held"),
    _rule("leaks", "error", "token-in-file", "a token or key of a service is in the image",
          "take it back at the service now, and use a build secret"),
    _rule("leaks", "error", "secret-set", "a setting, a variable or a command in the history holds a secret",
          "use a build secret (never ARG or ENV), and change it"),
    _rule("leaks", "note", "built-from-path", "a package's direct_url.json names a folder of the machine that built it",
          "install from an index, or remove direct_url.json"),
)  # fmt: skip

RULES = {rule.id: rule for rule in _TABLE}


def find(rule_id: str, path: str, evidence: str, *, severity: Severity | None = None, reason: str = "") -> Finding:
    """A finding of that rule. `path` is inside the image; "" stands for the image's settings."""
    rule = RULES[rule_id]
    return Finding(
        rule=rule.id, severity=severity or rule.severity, path=f"/{path}" if path else "", evidence=evidence,
        remedy=rule.remedy, reason=reason,
    )  # fmt: skip


def name_some(names: list[str] | tuple[str, ...], limit: int = 4) -> str:
    """ "a, b, c, d and 3 more"."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
