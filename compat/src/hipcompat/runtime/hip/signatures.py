"""A call of HIP → its arguments' names, as HIP's headers have them, so that errors can name them."""

from __future__ import annotations

NAMES: dict[str, tuple[str, ...]] = {
    "hipDeviceSynchronize": (),
    "hipEventCreate": ("event",),
    "hipEventDestroy": ("event",),
    "hipEventElapsedTime": ("ms", "start", "stop"),
    "hipEventQuery": ("event",),
    "hipEventRecord": ("event", "stream"),
    "hipEventSynchronize": ("event",),
    "hipFree": ("ptr",),
    "hipFreeAsync": ("dev_ptr", "stream"),
    "hipGetDevice": ("deviceId",),
    "hipGetDeviceCount": ("count",),
    "hipHostFree": ("ptr",),
    "hipHostMalloc": ("ptr", "size", "flags"),
    "hipInit": ("flags",),
    "hipMalloc": ("ptr", "size"),
    "hipMallocAsync": ("dev_ptr", "size", "stream"),
    "hipMallocManaged": ("dev_ptr", "size", "flags"),
    "hipMemcpy": ("dst", "src", "sizeBytes", "kind"),
    "hipMemcpyAsync": ("dst", "src", "sizeBytes", "kind", "stream"),
    "hipMemset": ("dst", "value", "sizeBytes"),
    "hipMemsetAsync": ("dst", "value", "sizeBytes", "stream"),
    "hipModuleGetFunction": ("function", "module", "kname"),
    "hipModuleLaunchKernel": (
        "f", "gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "sharedMemBytes", "stream",
        "kernelParams", "extra",
    ),
    "hipModuleLoadData": ("module", "image"),
    "hipModuleUnload": ("module",),
    "hipRuntimeGetVersion": ("runtimeVersion",),
    "hipSetDevice": ("deviceId",),
    "hipStreamCreate": ("stream",),
    "hipStreamDestroy": ("stream",),
    "hipStreamQuery": ("stream",),
    "hipStreamSynchronize": ("stream",),
}  # fmt: skip
ALLOCATORS = frozenset({"hipMalloc", "hipMallocAsync", "hipMallocManaged", "hipHostMalloc", "hipExtMallocWithFlags"})
RELEASERS = frozenset({"hipFree", "hipFreeAsync", "hipHostFree"})
POINTERS = frozenset({"dst", "src", "ptr", "dev_ptr"})
"""Arguments that point to memory of the device or the host."""


def name_arguments(call: str, count: int) -> tuple[str, ...]:
    """As many names as there are arguments: the header's where they are known, else argument0 and so on."""
    known = NAMES.get(call, ())[:count]
    return (*known, *(f"argument{number}" for number in range(len(known), count)))
