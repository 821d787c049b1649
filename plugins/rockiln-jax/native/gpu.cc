// The handler that XLA calls on a GPU's stream: workspace from XLA's own allocator. Compiled without HIP headers.
#include "buffers.h"

namespace rockiln_jax {
namespace {

ffi::Error launch(void* stream, std::int32_t device, ffi::ScratchAllocator scratch, ffi::RemainingArgs operands,
                  ffi::RemainingRets results, std::string_view op, ffi::Span<const std::int32_t> inputs,
                  ffi::Span<const std::int32_t> scalar_kinds, ffi::Span<const std::int64_t> scalar_bits,
                  ffi::Span<const std::int32_t> dtypes) {
  Buffers buffers;
  if (ffi::Error error = read_buffers(operands, results, buffers); error.failure()) return error;
  PlannedCall call;
  if (ffi::Error error = call.find({op, inputs, scalar_kinds, scalar_bits, dtypes}, buffers, device); error.failure())
    return error;
  void* workspace = nullptr;
  if (const std::uint64_t bytes = call.workspace_bytes()) {
    const std::optional<void*> found = scratch.Allocate(bytes, 256);
    if (!found)
      return ffi::Error(ffi::ErrorCode::kResourceExhausted,
                        "rockiln: no " + std::to_string(bytes) + " bytes of workspace for " + std::string(op));
    workspace = *found;
  }
  return call.run(buffers, workspace, stream);
}

}  // namespace
}  // namespace rockiln_jax

#pragma GCC visibility push(default)
// Not marked as fit for command buffers: XLA would capture the first call, whose kernels are not loaded yet.
XLA_FFI_DEFINE_HANDLER_SYMBOL(rockiln_jax_call, rockiln_jax::launch,
                              xla::ffi::Ffi::Bind()
                                  .Ctx<xla::ffi::PlatformStream<void*>>()
                                  .Ctx<xla::ffi::DeviceOrdinal>()
                                  .Ctx<xla::ffi::ScratchAllocator>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("op")
                                  .Attr<xla::ffi::Span<const std::int32_t>>("inputs")
                                  .Attr<xla::ffi::Span<const std::int32_t>>("scalar_kinds")
                                  .Attr<xla::ffi::Span<const std::int64_t>>("scalar_bits")
                                  .Attr<xla::ffi::Span<const std::int32_t>>("dtypes"));
#pragma GCC visibility pop
