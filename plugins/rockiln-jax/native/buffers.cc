// A custom call -> a call of rockiln_dispatch.h.
#include "buffers.h"

#include <atomic>
#include <cstring>

namespace rockiln_jax {
namespace {

std::atomic<const rockiln_dispatch_api*> functions{nullptr};

ffi::Error make_error(rockiln_status status, const char* message) {
  const bool is_callers = status == ROCKILN_CALL_TYPE || status == ROCKILN_CALL_VALUE || status == ROCKILN_CALL_LAYOUT ||
                          status == ROCKILN_UNKNOWN_OP;
  return ffi::Error(is_callers ? ffi::ErrorCode::kInvalidArgument : ffi::ErrorCode::kInternal,
                    std::string("rockiln: ") + message);
}

rockiln_array describe(const ffi::AnyBuffer& buffer, const void* data) {
  const auto dims = buffer.dimensions();
  return {data, dims.begin(), nullptr, static_cast<std::uint32_t>(dims.size()), find_dtype(buffer.element_type())};
}

std::vector<rockiln_scalar> read_scalars(const Attributes& attributes) {
  std::vector<rockiln_scalar> scalars(attributes.scalar_kinds.size());
  for (std::size_t place = 0; place < scalars.size(); ++place) {
    scalars[place].kind = static_cast<std::uint32_t>(attributes.scalar_kinds[place]);
    scalars[place].reserved = 0;
    scalars[place].as.integer = attributes.scalar_bits[place];  // little endian: an f32 lies in the low half
  }
  return scalars;
}

}  // namespace

std::uint32_t find_dtype(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F32: return ROCKILN_DTYPE_F32;
    case ffi::DataType::F16: return ROCKILN_DTYPE_F16;
    case ffi::DataType::BF16: return ROCKILN_DTYPE_BF16;
    case ffi::DataType::F8E4M3FN: return ROCKILN_DTYPE_E4M3;
    case ffi::DataType::F8E5M2: return ROCKILN_DTYPE_E5M2;
    case ffi::DataType::F8E4M3FNUZ: return ROCKILN_DTYPE_E4M3FNUZ;
    case ffi::DataType::F8E5M2FNUZ: return ROCKILN_DTYPE_E5M2FNUZ;
    case ffi::DataType::U8: return ROCKILN_DTYPE_U8;
    case ffi::DataType::S32: return ROCKILN_DTYPE_I32;
    case ffi::DataType::S64: return ROCKILN_DTYPE_I64;
    default: return 0;
  }
}

ffi::Error read_buffers(ffi::RemainingArgs& operands, ffi::RemainingRets& results, Buffers& out) {
  for (std::size_t place = 0; place < operands.size(); ++place) {
    auto buffer = operands.get<ffi::AnyBuffer>(place);
    if (!buffer.has_value()) return buffer.error();
    if (!find_dtype(buffer->element_type()))
      return ffi::Error::InvalidArgument("rockiln: operand " + std::to_string(place) + " has a dtype that no op takes");
    out.operands.push_back(*buffer);
    out.operand_data.push_back(buffer->untyped_data());
  }
  for (std::size_t place = 0; place < results.size(); ++place) {
    auto buffer = results.get<ffi::AnyBuffer>(place);
    if (!buffer.has_value()) return buffer.error();
    out.results.push_back(**buffer);
    out.result_data.push_back((*buffer)->untyped_data());
  }
  return ffi::Error::Success();
}

PlannedCall::~PlannedCall() {
  if (plan_) functions.load(std::memory_order_acquire)->release_plan(plan_);
}

ffi::Error PlannedCall::find(const Attributes& attributes, const Buffers& buffers, std::int32_t device) {
  const rockiln_dispatch_api* api = functions.load(std::memory_order_acquire);
  if (!api) return ffi::Error::Internal("rockiln: call rockiln_jax.register() before the first use");
  if (attributes.scalar_kinds.size() != attributes.scalar_bits.size())
    return ffi::Error::InvalidArgument("rockiln: as many scalar_kinds as scalar_bits");
  std::vector<rockiln_array> inputs(attributes.inputs.size());
  places_.assign(attributes.inputs.begin(), attributes.inputs.end());
  for (std::size_t place = 0; place < inputs.size(); ++place) {
    if (places_[place] < 0) continue;
    const auto operand = static_cast<std::size_t>(places_[place]);
    if (operand >= buffers.operands.size())
      return ffi::Error::InvalidArgument("rockiln: inputs names operand " + std::to_string(operand));
    inputs[place] = describe(buffers.operands[operand], buffers.operand_data[operand]);
  }
  const std::vector<rockiln_scalar> scalars = read_scalars(attributes);
  const std::vector<std::uint32_t> dtypes(attributes.dtypes.begin(), attributes.dtypes.end());
  rockiln_op_call call{};
  call.struct_bytes = sizeof call;
  call.device = device;
  call.inputs = inputs.data();
  call.scalars = scalars.data();
  call.dtypes = dtypes.data();
  call.input_count = static_cast<std::uint32_t>(inputs.size());
  call.scalar_count = static_cast<std::uint32_t>(scalars.size());
  call.dtype_count = static_cast<std::uint32_t>(dtypes.size());
  rockiln_status status = api->find_op(std::string(attributes.op).c_str(), &call.op);
  if (!status) status = api->find_plan(&call, &plan_);
  if (status) return make_error(status, api->last_error());
  const rockiln_plan_facts& facts = *api->describe_plan(plan_);
  if (facts.provider != ROCKILN_BY_PACK)
    return ffi::Error(ffi::ErrorCode::kFailedPrecondition, "rockiln: " + std::string(facts.op) + " [" + facts.call +
                                                               "] was compiled for the pack, which does not run it: " +
                                                               facts.reason);
  if (facts.output_count != buffers.results.size())
    return ffi::Error::InvalidArgument("rockiln: another number of results than the op has outputs");
  return ffi::Error::Success();
}

std::uint64_t PlannedCall::workspace_bytes() const {
  return functions.load(std::memory_order_acquire)->describe_plan(plan_)->workspace_bytes;
}

ffi::Error PlannedCall::run(const Buffers& buffers, void* workspace, void* stream) const {
  const rockiln_dispatch_api* api = functions.load(std::memory_order_acquire);
  std::vector<const void*> inputs(places_.size());
  for (std::size_t place = 0; place < inputs.size(); ++place)
    if (places_[place] >= 0) inputs[place] = buffers.operand_data[static_cast<std::size_t>(places_[place])];
  rockiln_plan_run run{};
  run.struct_bytes = sizeof run;
  run.input_count = static_cast<std::uint32_t>(inputs.size());
  run.output_count = static_cast<std::uint32_t>(buffers.result_data.size());
  run.inputs = inputs.data();
  run.outputs = buffers.result_data.data();
  run.workspace = workspace;
  run.stream = stream;
  const rockiln_status status = api->run_plan(plan_, &run);
  return status ? make_error(status, api->last_error()) : ffi::Error::Success();
}

}  // namespace rockiln_jax

int rockiln_jax_bind(const rockiln_dispatch_api* api) {
  if (!api || api->struct_bytes < sizeof *api || api->abi_version != ROCKILN_DISPATCH_ABI_VERSION) return 1;
  rockiln_jax::functions.store(api, std::memory_order_release);
  return 0;
}
