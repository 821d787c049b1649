// Names of a shared library -> SharedLibrary: the first that opens, and its functions. Never closed: drivers do not
// survive it.
#pragma once

#include <string>
#include <vector>

namespace rockiln {

class SharedLibrary {
 public:
  // `own`, else what the environment's `variable` names, else `names` in order. Throws Failure(ROCKILN_NO_RUNTIME).
  SharedLibrary(const char* own, const char* variable, const std::vector<std::string>& names);

  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(find_address(name));
  }

 private:
  void* find_address(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace rockiln
