// A folder -> Pack.
#include "pack.h"

#include <algorithm>

#include "failure.h"

using rockiln::fail;

const rockiln::DeviceFacts& rockiln_runtime::facts_of(int device) {
  if (device < 0 || device >= kDeviceLimit) fail(ROCKILN_NO_DEVICE, "there is no device " + std::to_string(device));
  auto& place = facts_[static_cast<std::size_t>(device)];
  if (const auto* known = place.load(std::memory_order_acquire)) return *known;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto* known = place.load(std::memory_order_acquire)) return *known;
  const auto* facts = new rockiln::DeviceFacts(driver->read_device(device));
  place.store(facts, std::memory_order_release);
  return *facts;
}

rockiln_runtime::~rockiln_runtime() {
  for (auto& place : facts_) delete place.load();
}

rockiln_pack::rockiln_pack(rockiln_runtime& owner, const std::string& path)
    : runtime(owner), folder(path), index(rockiln::read_index(path + "/index.bin")) {
  if (index.backend != owner.backend)
    fail(ROCKILN_WRONG_ARCH, path + ": code for " + index.arch + " cannot run on this runtime");
  for (const auto& entry : index.kernels) {
    auto kernel = std::make_unique<rockiln_kernel>();
    kernel->entry = &entry;
    kernel->pack = this;
    kernel->value_count = static_cast<std::uint32_t>(std::count_if(
        entry.args.begin(), entry.args.end(), [](const auto& arg) { return arg.kind != rockiln::kNullKind; }));
    kernels.push_back(std::move(kernel));
  }
}

rockiln_pack::~rockiln_pack() {
  for (const LoadedModule& loaded : modules_) {
    try {
      const rockiln::DeviceScope scope(*runtime.driver, loaded.device);
      runtime.driver->unload_module(loaded.module);
    } catch (const rockiln::Failure&) {  // the device is gone, and its modules with it
    }
  }
}

void* rockiln_kernel::load_function(int device) const {
  const std::lock_guard<std::mutex> lock(pack->mutex_);
  if (void* function = find_function(device)) return function;
  const std::string path = pack->folder + "/" + entry->file;
  auto image = std::make_unique<rockiln::MappedFile>(path);
  if (image->size() != entry->size_bytes)
    fail(ROCKILN_BAD_PACK, path + " has " + std::to_string(image->size()) + " bytes, not " +
                               std::to_string(entry->size_bytes) + ": the pack is damaged");
  if (rockiln::hash_bytes(image->data(), image->size()) != entry->sha256)
    fail(ROCKILN_BAD_PACK, path + " has other bytes than its sha256 says: the pack is damaged");
  pack->modules_.reserve(pack->modules_.size() + 1);  // so that nothing fails once the module is loaded
  pack->images_.reserve(pack->images_.size() + 1);
  const auto loaded =
      pack->runtime.driver->load_function(image->data(), entry->symbol.c_str(), entry->shared_bytes);
  pack->modules_.push_back({device, loaded.module});
  pack->images_.push_back(std::move(image));
  functions[static_cast<std::size_t>(device)].store(loaded.function, std::memory_order_release);
  return loaded.function;
}
