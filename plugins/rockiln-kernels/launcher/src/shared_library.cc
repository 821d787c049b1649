// Names -> SharedLibrary.
#include "shared_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "failure.h"

namespace rockiln {

SharedLibrary::SharedLibrary(const char* own, const char* variable, const std::vector<std::string>& names) {
  const char* asked = own && *own ? own : std::getenv(variable);
  const bool is_asked = asked && *asked;
  std::string reasons;
  for (const std::string& name : is_asked ? std::vector<std::string>{asked} : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
      name_ = name;
      return;
    }
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason ? reason : name);
  }
  fail(ROCKILN_NO_RUNTIME, "no GPU runtime could be opened: " + reasons + "; install it, or name it in " + variable);
}

void* SharedLibrary::find_address(const char* name) const {
  void* address = dlsym(handle_, name);
  if (!address) fail(ROCKILN_NO_RUNTIME, name_ + " has no " + name + ": not a driver of a version that is known here");
  return address;
}

}  // namespace rockiln
