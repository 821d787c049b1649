// The ops' kernels for DEVICE_CPU: native/call.cc in the memory of a fake HIP. Tests only.
#include "../../../rockiln-kernels/tests/fake_hip/device_memory.h"
#include "call.h"

namespace rockiln_tensorflow {
namespace {

class HostCall : public CallKernel {
 public:
  using CallKernel::CallKernel;

  void Compute(tensorflow::OpKernelContext* context) override { OP_REQUIRES_OK(context, launch(context)); }

 private:
  absl::Status launch(tensorflow::OpKernelContext* context) const {
    const auto inputs = read_inputs(context);
    std::vector<DeviceMemory> memory;
    std::vector<const void*> addresses;
    for (const tensorflow::Tensor* tensor : inputs) {
      addresses.push_back(nullptr);
      if (!tensor) continue;
      memory.emplace_back(tensor->TotalBytes());
      driver.copy(memory.back().get(), tensor->data(), tensor->TotalBytes(), 1);
      addresses.back() = memory.back().get();
    }
    Plan plan;
    if (absl::Status status = find_plan(inputs, addresses, 0, plan); !status.ok()) return status;
    std::vector<tensorflow::Tensor*> outputs;
    if (absl::Status status = allocate_outputs(context, plan, outputs); !status.ok()) return status;
    std::vector<void*> results;
    for (const tensorflow::Tensor* tensor : outputs) {
      memory.emplace_back(tensor->TotalBytes());
      results.push_back(memory.back().get());
    }
    const DeviceMemory workspace(find_functions()->describe_plan(plan.get())->workspace_bytes);
    absl::Status status = run_plan(plan, addresses, results, workspace.get(), nullptr);
    for (std::size_t place = 0; place < outputs.size() && status.ok(); ++place)
      driver.copy(outputs[place]->data(), results[place], outputs[place]->TotalBytes(), 2);
    return status;
  }
};

#define ROCKILN_KERNEL(type) REGISTER_KERNEL_BUILDER(Name(type).Device(tensorflow::DEVICE_CPU).Priority(1), HostCall);
#include "kernel_types.inc"
#undef ROCKILN_KERNEL

}  // namespace
}  // namespace rockiln_tensorflow

extern "C" __attribute__((visibility("default"))) int rockiln_tensorflow_use_driver(const char* path) {
  return use_driver(path);
}
