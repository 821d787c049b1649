// XLA's CPU calls -> the same calls as native/gpu.cc, in the memory of a fake HIP. Tests only.
#include "../../../rockiln-kernels/tests/fake_hip/device_memory.h"
#include "buffers.h"

namespace rockiln_jax {
namespace {

ffi::Error call(ffi::RemainingArgs operands, ffi::RemainingRets results, std::string_view op,
                ffi::Span<const std::int32_t> inputs, ffi::Span<const std::int32_t> scalar_kinds,
                ffi::Span<const std::int64_t> scalar_bits, ffi::Span<const std::int32_t> dtypes) {
  Buffers buffers;
  if (ffi::Error error = read_buffers(operands, results, buffers); error.failure()) return error;
  std::vector<DeviceMemory> memory;
  for (std::size_t place = 0; place < buffers.operands.size(); ++place) {
    memory.emplace_back(buffers.operands[place].size_bytes());
    driver.copy(memory.back().get(), buffers.operand_data[place], buffers.operands[place].size_bytes(), 1);
    buffers.operand_data[place] = memory.back().get();
  }
  std::vector<void*> host = buffers.result_data;
  for (std::size_t place = 0; place < buffers.results.size(); ++place) {
    memory.emplace_back(buffers.results[place].size_bytes());
    buffers.result_data[place] = memory.back().get();
  }
  PlannedCall planned;
  if (ffi::Error error = planned.find({op, inputs, scalar_kinds, scalar_bits, dtypes}, buffers, 0); error.failure())
    return error;
  const DeviceMemory workspace(planned.workspace_bytes());
  ffi::Error error = planned.run(buffers, workspace.get(), nullptr);
  for (std::size_t place = 0; place < host.size() && error.success(); ++place)
    driver.copy(host[place], buffers.result_data[place], buffers.results[place].size_bytes(), 2);
  return error;
}

}  // namespace
}  // namespace rockiln_jax

extern "C" __attribute__((visibility("default"))) int rockiln_jax_use_driver(const char* path) {
  return use_driver(path);
}

#pragma GCC visibility push(default)
XLA_FFI_DEFINE_HANDLER_SYMBOL(rockiln_jax_host_call, rockiln_jax::call,
                              xla::ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("op")
                                  .Attr<xla::ffi::Span<const std::int32_t>>("inputs")
                                  .Attr<xla::ffi::Span<const std::int32_t>>("scalar_kinds")
                                  .Attr<xla::ffi::Span<const std::int64_t>>("scalar_bits")
                                  .Attr<xla::ffi::Span<const std::int32_t>>("dtypes"));
#pragma GCC visibility pop
