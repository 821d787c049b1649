// The operands, results and attributes of a custom call -> a call of rockiln_dispatch.h. One for every op.
//
// Attributes (rockiln_jax/lowering.py writes them):
//   op            name of the op
//   inputs        i32 an input of the OpSpec: which operand it is, or -1 where it is absent
//   scalar_kinds  i32 a scalar: rockiln_kind, or 0 for the op's default
//   scalar_bits   i64 a scalar: the number, or the bits of an f32
//   dtypes        i32 a dtype axis that no input decides: rockiln_dtype
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rockiln_dispatch.h"
#include "xla/ffi/api/ffi.h"

namespace rockiln_jax {

namespace ffi = xla::ffi;

struct Attributes {
  std::string_view op;
  ffi::Span<const std::int32_t> inputs, scalar_kinds;
  ffi::Span<const std::int64_t> scalar_bits;
  ffi::Span<const std::int32_t> dtypes;
};

// Operands by place, so that tests can put other memory in their place.
struct Buffers {
  std::vector<ffi::AnyBuffer> operands;
  std::vector<ffi::AnyBuffer> results;
  std::vector<const void*> operand_data;
  std::vector<void*> result_data;
};

ffi::Error read_buffers(ffi::RemainingArgs& operands, ffi::RemainingRets& results, Buffers& out);

// rockiln_dtype; 0 for one that no op has.
std::uint32_t find_dtype(ffi::DataType type);

class PlannedCall {
 public:
  PlannedCall() = default;
  ~PlannedCall();
  PlannedCall(const PlannedCall&) = delete;
  PlannedCall& operator=(const PlannedCall&) = delete;

  // Look for the plan, which must be the pack's. The library's own words otherwise.
  ffi::Error find(const Attributes& attributes, const Buffers& buffers, std::int32_t device);
  std::uint64_t workspace_bytes() const;
  ffi::Error run(const Buffers& buffers, void* workspace, void* stream) const;

 private:
  const rockiln_plan* plan_ = nullptr;
  std::vector<std::int32_t> places_;
};

}  // namespace rockiln_jax

// The functions of librockiln; set once, before the first call. 0, or 1 for a table of another version.
extern "C" __attribute__((visibility("default"))) int rockiln_jax_bind(const rockiln_dispatch_api* api);
