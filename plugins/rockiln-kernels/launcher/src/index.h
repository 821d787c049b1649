// index.bin of a pack -> Index: every kernel and how to launch it. docs/launcher.md documents the format;
// rockiln_kernels/pack/index.py writes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../rockiln.h"
#include "sha256.h"

namespace rockiln {

constexpr std::uint32_t kNullKind = 0;          // reserved by the compiler, passed as zero
constexpr std::uint32_t kKernargLimit = 1024;   // so that a launch keeps its arguments on the stack

struct ArgumentEntry {
  std::string name;
  std::uint32_t kind;  // rockiln_kind, or kNullKind
  std::uint32_t offset;
  std::uint32_t size_bytes;
  std::uint32_t divisible_by;
};

struct KernelEntry {
  std::string key;
  std::string source;
  std::string symbol;
  std::string file;
  std::uint64_t size_bytes;
  Digest sha256;  // of the file
  std::uint32_t threads;
  std::uint32_t shared_bytes;
  std::uint32_t kernarg_bytes;
  std::vector<ArgumentEntry> args;
};

struct Index {
  std::string arch;
  rockiln_backend backend;
  std::string sha256;  // of manifest.json, in hex
  std::vector<KernelEntry> kernels;  // sorted by key
};

// Throws Failure(ROCKILN_BAD_PACK) where the file is missing, of another version, or inconsistent.
Index read_index(const std::string& path);

}  // namespace rockiln
