// Kernels: every op of the table on a GPU's own stream; and what the functions around them need, on CPU and GPU.
// Compiled without HIP headers. The GPU class has been compiled and linked; it has run on no GPU yet.
#include "absl/strings/str_cat.h"
#include "call.h"
#include "tensorflow/core/framework/device_base.h"
#include "xla/stream_executor/stream.h"

namespace rockiln_tensorflow {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

class GpuCall : public CallKernel {
 public:
  using CallKernel::CallKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, launch(context)); }

 private:
  absl::Status launch(OpKernelContext* context) const {
    const auto* facts = context->device()->tensorflow_accelerator_device_info();
    if (!facts || !context->op_device_context() || !context->op_device_context()->stream())
      return absl::InternalError("rockiln: this device is no GPU with a stream");
    stream_executor::Stream* stream = context->op_device_context()->stream();
    const auto inputs = read_inputs(context);
    std::vector<const void*> addresses;
    for (const Tensor* tensor : inputs) addresses.push_back(tensor ? tensor->data() : nullptr);
    Plan plan;
    if (absl::Status status = find_plan(inputs, addresses, facts->gpu_id, plan); !status.ok())
      return status;
    std::vector<Tensor*> outputs;
    if (absl::Status status = allocate_outputs(context, plan, outputs); !status.ok()) return status;
    std::vector<void*> results;
    for (const Tensor* tensor : outputs) results.push_back(tensor->data());
    Tensor workspace;  // TensorFlow gives it to nobody else before this stream has passed the launch
    if (const auto bytes = find_functions()->describe_plan(plan.get())->workspace_bytes) {
      const tensorflow::TensorShape shape({static_cast<std::int64_t>(bytes)});
      if (absl::Status status = context->allocate_temp(tensorflow::DT_UINT8, shape, &workspace); !status.ok())
        return status;
    }
    void* own = stream->platform_specific_handle().stream;
    return run_plan(plan, addresses, results, workspace.NumElements() ? workspace.data() : nullptr, own);
  }
};

// What is traced for a kernel and comes to a CPU, with a saved model for instance, says so.
class NoKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    context->SetStatus(absl::FailedPreconditionError(
        absl::StrCat("rockiln: ", type_string(), " was traced for a kernel of a GPU, and here it is to run on a CPU: trace ",
                     "the function here, or save the model where rockiln_tensorflow composes its calls")));
  }
};

// Asks dispatch with shapes alone: whether the pack would run the call.
class Serves : public OpKernel {
 public:
  explicit Serves(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("op", &op_));
    OP_REQUIRES_OK(context, context->GetAttr("input_dtypes", &input_dtypes_));
    OP_REQUIRES_OK(context, context->GetAttr("dtypes", &dtypes_));
    std::vector<std::int64_t> kinds, bits;
    OP_REQUIRES_OK(context, context->GetAttr("scalar_kinds", &kinds));
    OP_REQUIRES_OK(context, context->GetAttr("scalar_bits", &bits));
    OP_REQUIRES(context, kinds.size() == bits.size(),
                absl::InvalidArgumentError("rockiln: as many scalar_kinds as scalar_bits"));
    for (std::size_t place = 0; place < kinds.size(); ++place) {
      scalars_.emplace_back();
      scalars_.back().kind = static_cast<std::uint32_t>(kinds[place]);
      scalars_.back().as.integer = bits[place];  // little endian: a float lies in the low half
    }
  }

  void Compute(OpKernelContext* context) override {
    bool serves = false;
    OP_REQUIRES_OK(context, ask(context, serves));
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, {}, &output));
    output->scalar<bool>()() = serves;
  }

 private:
  absl::Status ask(OpKernelContext* context, bool& serves) const {
    const rockiln_dispatch_api* api = find_functions();
    if (!api) return absl::OkStatus();  // nobody has registered the kernels
    tensorflow::OpInputList shapes;
    if (absl::Status status = context->input_list("shapes", &shapes); !status.ok()) return status;
    std::vector<rockiln_array> arrays(input_dtypes_.size());
    int given = 0;
    for (std::size_t place = 0; place < arrays.size(); ++place) {
      if (!input_dtypes_[place]) continue;
      if (given == shapes.size()) return absl::InvalidArgumentError("rockiln: fewer shapes than inputs");
      const Tensor& shape = shapes[given++];
      arrays[place] = {nullptr, shape.flat<std::int64_t>().data(), nullptr,
                       static_cast<std::uint32_t>(shape.NumElements()), static_cast<std::uint32_t>(input_dtypes_[place])};
    }
    const std::vector<std::uint32_t> dtypes(dtypes_.begin(), dtypes_.end());
    rockiln_op_call call{};
    call.struct_bytes = sizeof call;
    call.inputs = arrays.data();
    call.scalars = scalars_.data();
    call.dtypes = dtypes.data();
    call.input_count = static_cast<std::uint32_t>(arrays.size());
    call.scalar_count = static_cast<std::uint32_t>(scalars_.size());
    call.dtype_count = static_cast<std::uint32_t>(dtypes.size());
    const rockiln_plan* found = nullptr;
    rockiln_status status = api->find_op(op_.c_str(), &call.op);
    if (!status) status = api->find_plan(&call, &found);
    if (status) return make_error(status);
    const Plan plan(found);
    serves = api->describe_plan(found)->provider == ROCKILN_BY_PACK;
    return absl::OkStatus();
  }

  std::string op_;
  std::vector<std::int64_t> input_dtypes_, dtypes_;
  std::vector<rockiln_scalar> scalars_;
};

class Bitcast : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    Tensor output;
    const Tensor& input = context->input(0);
    OP_REQUIRES_OK(context, output.BitcastFrom(input, context->expected_output_dtype(0), input.shape()));
    context->set_output(0, output);
  }
};

REGISTER_KERNEL_BUILDER(Name("RockilnServes").Device(tensorflow::DEVICE_CPU), Serves);
REGISTER_KERNEL_BUILDER(Name("RockilnBitcast").Device(tensorflow::DEVICE_CPU), Bitcast);
REGISTER_KERNEL_BUILDER(Name("RockilnBitcast").Device(tensorflow::DEVICE_GPU), Bitcast);

#define ROCKILN_KERNEL(type)                                                     \
  REGISTER_KERNEL_BUILDER(Name(type).Device(tensorflow::DEVICE_GPU), GpuCall); \
  REGISTER_KERNEL_BUILDER(Name(type).Device(tensorflow::DEVICE_CPU), NoKernel);
#include "kernel_types.inc"
#undef ROCKILN_KERNEL

}  // namespace
}  // namespace rockiln_tensorflow
