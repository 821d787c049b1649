#include "call.h"

#include <atomic>

#include "absl/strings/str_cat.h"

namespace rockiln_tensorflow {

using tensorflow::DataType;
using tensorflow::Tensor;

namespace {

std::atomic<const rockiln_dispatch_api*> functions{nullptr};

}  // namespace

const rockiln_dispatch_api* find_functions() { return functions.load(std::memory_order_acquire); }

absl::Status make_error(rockiln_status status) {
  const std::string words = absl::StrCat("rockiln: ", find_functions()->last_error());
  switch (status) {
    case ROCKILN_CALL_TYPE:
    case ROCKILN_CALL_VALUE:
    case ROCKILN_CALL_LAYOUT:
    case ROCKILN_UNKNOWN_OP: return absl::InvalidArgumentError(words);
    case ROCKILN_NOT_SELECTED: return absl::FailedPreconditionError(words);
    default: return absl::InternalError(words);
  }
}

CallKernel::CallKernel(tensorflow::OpKernelConstruction* context)
    : OpKernel(context), row_(find_row(context->def().op())) {
  OP_REQUIRES_OK(context, read_attributes(context));
  for (const Array& array : row_->inputs) {
    int start = 0, stop = 0;
    OP_REQUIRES_OK(context, InputRange(array.name, &start, &stop));
    places_.push_back(start < stop ? start : -1);
  }
}

absl::Status CallKernel::read_attributes(tensorflow::OpKernelConstruction* context) {
  for (const Scalar& scalar : row_->scalars) {
    rockiln_scalar value{};
    absl::Status status;
    value.kind = scalar.kind == 'f' ? ROCKILN_F32 : ROCKILN_I32;
    if (scalar.kind == 'f') {
      status = context->GetAttr(scalar.name, &value.as.number);
    } else if (scalar.kind == 'b') {
      bool flag = false;
      status = context->GetAttr(scalar.name, &flag);
      value.as.integer = flag;
    } else {
      status = context->GetAttr(scalar.name, &value.as.integer);
    }
    if (!status.ok()) return status;
    scalars_.push_back(value);
  }
  for (const Axis& axis : row_->axes) {
    if (axis.fixed) {
      dtypes_.push_back(axis.fixed);
    } else if (axis.is_text) {
      std::string format;
      if (absl::Status status = context->GetAttr(axis.name, &format); !status.ok()) return status;
      dtypes_.push_back(format == "e2m3" ? ROCKILN_DTYPE_E2M3 : ROCKILN_DTYPE_E3M2);
    } else {
      DataType type = tensorflow::DT_INVALID;
      if (absl::Status status = context->GetAttr(axis.name, &type); !status.ok()) return status;
      dtypes_.push_back(find_dtype(type));
    }
  }
  return absl::OkStatus();
}

std::vector<const Tensor*> CallKernel::read_inputs(tensorflow::OpKernelContext* context) const {
  std::vector<const Tensor*> inputs;
  for (const int place : places_) inputs.push_back(place < 0 ? nullptr : &context->input(place));
  return inputs;
}

absl::Status CallKernel::find_plan(const std::vector<const Tensor*>& inputs, const std::vector<const void*>& addresses,
                                   int device, Plan& plan) const {
  const rockiln_dispatch_api* api = find_functions();
  if (!api) return absl::FailedPreconditionError("rockiln: call rockiln_tensorflow.register() before a kernel is used");
  std::vector<rockiln_array> arrays(inputs.size());
  std::vector<std::vector<std::int64_t>> shapes(inputs.size());
  for (std::size_t place = 0; place < inputs.size(); ++place) {
    if (!inputs[place]) continue;
    for (int dim = 0; dim < inputs[place]->dims(); ++dim) shapes[place].push_back(inputs[place]->dim_size(dim));
    arrays[place] = {addresses[place], shapes[place].data(), nullptr, static_cast<std::uint32_t>(shapes[place].size()),
                     find_dtype(inputs[place]->dtype())};
  }
  rockiln_op_call call{};
  call.struct_bytes = sizeof call;
  call.device = device;
  call.inputs = arrays.data();
  call.scalars = scalars_.data();
  call.dtypes = dtypes_.data();
  call.input_count = static_cast<std::uint32_t>(arrays.size());
  call.scalar_count = static_cast<std::uint32_t>(scalars_.size());
  call.dtype_count = static_cast<std::uint32_t>(dtypes_.size());
  const rockiln_plan* found = nullptr;
  rockiln_status status = api->find_op(row_->name, &call.op);
  if (!status) status = api->find_plan(&call, &found);
  if (status) return make_error(status);
  plan.reset(found);
  const rockiln_plan_facts& facts = *api->describe_plan(found);
  if (facts.provider == ROCKILN_BY_PACK) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("rockiln: ", facts.op, " [", facts.call,
                                                    "] was traced for the pack, which does not run it: ", facts.reason));
}

absl::Status CallKernel::allocate_outputs(tensorflow::OpKernelContext* context, const Plan& plan,
                                          std::vector<Tensor*>& outputs) {
  const rockiln_plan_facts& facts = *find_functions()->describe_plan(plan.get());
  if (static_cast<int>(facts.output_count) != context->num_outputs())
    return absl::InternalError("rockiln: another number of outputs than the op has");
  for (int place = 0; place < context->num_outputs(); ++place) {
    const rockiln_output& output = facts.outputs[place];
    tensorflow::TensorShape shape;
    for (std::uint32_t dim = 0; dim < output.rank; ++dim)
      if (absl::Status status = shape.AddDimWithStatus(output.shape[dim]); !status.ok()) return status;
    if (find_type(output.dtype) != context->expected_output_dtype(place))
      return absl::InternalError(absl::StrCat("rockiln: ", output.name, " has another dtype than the op's"));
    Tensor* tensor = nullptr;
    if (absl::Status status = context->allocate_output(place, shape, &tensor); !status.ok()) return status;
    outputs.push_back(tensor);
  }
  return absl::OkStatus();
}

absl::Status CallKernel::run_plan(const Plan& plan, const std::vector<const void*>& inputs,
                                  const std::vector<void*>& outputs, void* workspace, void* stream) {
  rockiln_plan_run run{};
  run.struct_bytes = sizeof run;
  run.input_count = static_cast<std::uint32_t>(inputs.size());
  run.output_count = static_cast<std::uint32_t>(outputs.size());
  run.inputs = inputs.data();
  run.outputs = outputs.data();
  run.workspace = workspace;
  run.stream = stream;
  const rockiln_status status = find_functions()->run_plan(plan.get(), &run);
  return status ? make_error(status) : absl::OkStatus();
}

}  // namespace rockiln_tensorflow

int rockiln_tensorflow_bind(const rockiln_dispatch_api* api) {
  if (!api || api->struct_bytes < sizeof *api || api->abi_version != ROCKILN_DISPATCH_ABI_VERSION) return 1;
  rockiln_tensorflow::functions.store(api, std::memory_order_release);
  return 0;
}
