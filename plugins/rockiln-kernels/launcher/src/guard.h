// Work of a C function -> its status: nothing throws past the C ABI, and a failure leaves its message with the thread.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "failure.h"

namespace rockiln {

std::string& last_error() noexcept;  // of this thread

inline void require(bool holds, const char* what) {
  if (!holds) fail(ROCKILN_BAD_ARGUMENT, what);
}

template <typename Work>
rockiln_status guard(const Work& work) noexcept {
  try {
    work();
    return ROCKILN_OK;
  } catch (Failure& failure) {
    last_error().swap(failure.message);
    return failure.status;
  } catch (const std::bad_alloc&) {
    last_error().clear();  // a text would need memory
    return ROCKILN_NO_MEMORY;
  } catch (const std::exception& error) {
    last_error().assign(error.what());
    return ROCKILN_DRIVER;
  }
}

}  // namespace rockiln
