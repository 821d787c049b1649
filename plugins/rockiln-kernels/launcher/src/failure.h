// What went wrong -> Failure, thrown inside the library and turned into a status where the C ABI begins.
#pragma once

#include <string>

#include "../rockiln.h"

namespace rockiln {

struct Failure {
  rockiln_status status;
  std::string message;
};

[[noreturn]] inline void fail(rockiln_status status, std::string message) { throw Failure{status, std::move(message)}; }

}  // namespace rockiln
