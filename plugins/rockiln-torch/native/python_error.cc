#include "python_error.h"

#include <dlfcn.h>

#include <stdexcept>

// torch's bindings are made with pybind11, which lets an exception of this class set Python's error itself. Types are
// compared by name across libraries, so this declaration is that class; its one virtual function is as old as pybind11.
// Were it to change, its base would be caught: RuntimeError, with the same text.
namespace pybind11 {
class __attribute__((visibility("default"))) builtin_exception : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  virtual void set_error() const = 0;
};
}  // namespace pybind11

namespace rockiln_torch {
namespace {

class PythonFailure final : public pybind11::builtin_exception {
 public:
  PythonFailure(const char* text, void* raised, void* type)
      : builtin_exception(text), raised_(raised), type_(type) {}

  void set_error() const override {  // called with the interpreter's lock
    using SetObject = void (*)(void*, void*);
    const auto set_object = reinterpret_cast<SetObject>(dlsym(RTLD_DEFAULT, "PyErr_SetObject"));
    if (set_object != nullptr) set_object(type_, raised_);
  }

 private:
  void* raised_;
  void* type_;
};

}  // namespace

void rethrow_python(const uint64_t* results) {
  throw PythonFailure(reinterpret_cast<const char*>(results[2]), reinterpret_cast<void*>(results[0]),
                      reinterpret_cast<void*>(results[1]));
}

}  // namespace rockiln_torch
