// The C ABI -> the library: nothing throws past here, and every failure leaves its message with the thread.
#include <algorithm>
#include <cstring>

#include "guard.h"
#include "launch.h"
#include "pack.h"

using rockiln::guard;
using rockiln::require;

std::string& rockiln::last_error() noexcept {
  thread_local std::string text;
  return text;
}

namespace {

std::unique_ptr<rockiln::Driver> open_driver(rockiln_backend backend, const char* library) {
  require(backend == ROCKILN_HIP || backend == ROCKILN_CUDA, "rockiln_open_runtime: unknown backend");
  return backend == ROCKILN_HIP ? rockiln::open_hip(library) : rockiln::open_cuda(library);
}

}  // namespace

uint32_t rockiln_abi_version(void) { return ROCKILN_ABI_VERSION; }

const char* rockiln_last_error(void) { return rockiln::last_error().c_str(); }

rockiln_status rockiln_open_runtime(rockiln_backend backend, const char* library, rockiln_runtime** out) {
  return guard([&] {
    require(out, "rockiln_open_runtime: out is null");
    auto runtime = std::make_unique<rockiln_runtime>();
    runtime->driver = open_driver(backend, library);
    runtime->backend = backend;
    *out = runtime.release();
  });
}

void rockiln_close_runtime(rockiln_runtime* runtime) { delete runtime; }

rockiln_status rockiln_count_devices(rockiln_runtime* runtime, int32_t* out) {
  return guard([&] {
    require(runtime && out, "rockiln_count_devices: a null pointer");
    *out = runtime->driver->count_devices();
  });
}

rockiln_status rockiln_read_device(rockiln_runtime* runtime, int32_t device, rockiln_device_facts* out) {
  return guard([&] {
    require(runtime && out, "rockiln_read_device: a null pointer");
    const auto& facts = runtime->facts_of(device >= 0 ? device : runtime->driver->current_device());
    *out = {};
    facts.arch.copy(out->arch, sizeof out->arch - 1);
    out->threads_limit = facts.threads_limit;
    out->shared_limit = facts.shared_limit;
    std::copy(facts.grid_limit.begin(), facts.grid_limit.end(), out->grid_limit);
  });
}

rockiln_status rockiln_open_pack(rockiln_runtime* runtime, const char* folder, rockiln_pack** out) {
  return guard([&] {
    require(runtime && folder && out, "rockiln_open_pack: a null pointer");
    *out = new rockiln_pack(*runtime, folder);
  });
}

void rockiln_close_pack(rockiln_pack* pack) { delete pack; }

const char* rockiln_pack_arch(const rockiln_pack* pack) { return pack ? pack->index.arch.c_str() : ""; }

const char* rockiln_pack_sha256(const rockiln_pack* pack) { return pack ? pack->index.sha256.c_str() : ""; }

rockiln_status rockiln_find_kernel(const rockiln_pack* pack, const char* key, const rockiln_kernel** out) {
  return guard([&] {
    require(pack && key && out, "rockiln_find_kernel: a null pointer");
    const auto found = std::lower_bound(pack->kernels.begin(), pack->kernels.end(), key,
                                        [](const auto& kernel, const char* name) { return kernel->entry->key < name; });
    if (found == pack->kernels.end() || (*found)->entry->key != key)
      rockiln::fail(ROCKILN_UNKNOWN_KERNEL, pack->folder + " has no kernel " + key);
    *out = found->get();
  });
}

rockiln_status rockiln_describe_kernel(const rockiln_kernel* kernel, rockiln_kernel_facts* out) {
  return guard([&] {
    require(kernel && out, "rockiln_describe_kernel: a null pointer");
    const auto& entry = *kernel->entry;
    *out = {entry.key.c_str(),  entry.source.c_str(), entry.symbol.c_str(), entry.threads,
            entry.shared_bytes, entry.kernarg_bytes,  kernel->value_count};
  });
}

rockiln_status rockiln_preload(const rockiln_kernel* kernel, int32_t device) {
  return guard([&] {
    require(kernel, "rockiln_preload: the kernel is null");
    rockiln::preload_kernel(*kernel, device);
  });
}

rockiln_status rockiln_launch(const rockiln_call* call) {
  return guard([&] {
    require(call && call->struct_bytes >= sizeof(rockiln_call), "rockiln_launch: struct_bytes is too small for this ABI");
    require(call->kernel, "rockiln_launch: the kernel is null");
    rockiln::launch_call(*call);
  });
}
