# CMake toolchain file: .cu files compile as HIP with clang, under hipcompat's headers.
#
#   file=$(python -c 'from hipcompat.translate import CMAKE_PATH; print(CMAKE_PATH)')
#   cmake -B build -DCMAKE_TOOLCHAIN_FILE="$file" -DHIPCOMPAT_ARCHS="gfx942;gfx1100"
#
# and after add_library or add_executable: hipcompat_target(NAME). nvcc's flags of the target are given as
# hipcompat_target(NAME NVCC_FLAGS -O3 --use_fast_math); those that clang has not are dropped with a message.
cmake_minimum_required(VERSION 3.20)

set(HIPCOMPAT_ARCHS "gfx942" CACHE STRING "LLVM's names of the GPUs to compile for")
set(HIPCOMPAT_ROCM "$ENV{ROCM_PATH}" CACHE PATH "where include/hip is; default: ROCM_PATH, /opt/rocm, /usr")
set(HIPCOMPAT_PYTHON "python3" CACHE STRING "a Python that has hipcompat, for nvcc's flags")
set(HIPCOMPAT_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/../include")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HIPCOMPAT_ARCHS HIPCOMPAT_ROCM HIPCOMPAT_PYTHON)

if(NOT HIPCOMPAT_ROCM)
  foreach(folder /opt/rocm /usr)
    if(EXISTS "${folder}/include/hip/hip_version.h" AND NOT HIPCOMPAT_ROCM)
      set(HIPCOMPAT_ROCM "${folder}")
    endif()
  endforeach()
endif()

if(NOT DEFINED CMAKE_CXX_COMPILER)
  find_program(HIPCOMPAT_CLANG NAMES clang++ amdclang++ clang++-22 clang++-21 clang++-20 clang++-19
               HINTS "${HIPCOMPAT_ROCM}/lib/llvm/bin" "${HIPCOMPAT_ROCM}/llvm/bin" REQUIRED)
  set(CMAKE_CXX_COMPILER "${HIPCOMPAT_CLANG}")
endif()

function(hipcompat_target target)
  cmake_parse_arguments(ARG "" "" "NVCC_FLAGS" ${ARGN})
  file(GLOB_RECURSE bitcode "${HIPCOMPAT_ROCM}/amdgcn/bitcode/ockl.bc" "${HIPCOMPAT_ROCM}/lib/*/ockl.bc")
  if(bitcode)
    list(GET bitcode 0 first)
    get_filename_component(folder "${first}" DIRECTORY)
    set(libraries "--rocm-device-lib-path=${folder}")
  else()
    message(FATAL_ERROR "hipcompat: no ockl.bc below '${HIPCOMPAT_ROCM}': install ROCm's device libraries")
  endif()
  set(flags -x hip "--rocm-path=${HIPCOMPAT_ROCM}" "${libraries}" "-I${HIPCOMPAT_INCLUDE}" "-I${HIPCOMPAT_ROCM}/include"
      -D__HIP_NO_HOST_MIN_MAX_IN_GLOBAL_NAMESPACE__ -DOCML_BASIC_ROUNDED_OPERATIONS -include cuda_runtime.h)
  foreach(arch ${HIPCOMPAT_ARCHS})
    list(APPEND flags "--offload-arch=${arch}")
  endforeach()
  if(ARG_NVCC_FLAGS)
    execute_process(COMMAND "${HIPCOMPAT_PYTHON}" -m hipcompat flags -- ${ARG_NVCC_FLAGS}
                    OUTPUT_VARIABLE translated OUTPUT_STRIP_TRAILING_WHITESPACE
                    ERROR_VARIABLE reason RESULT_VARIABLE failed)
    if("${failed}" STREQUAL "3")
      message(FATAL_ERROR "hipcompat: these flags cannot be had on ROCm: ${ARG_NVCC_FLAGS}\n${translated}")
    elseif(failed)
      message(FATAL_ERROR "hipcompat: NVCC_FLAGS ${ARG_NVCC_FLAGS} were not translated (${failed}):\n${reason}")
    endif()
    string(REGEX REPLACE "\n.*" "" arguments "${translated}")
    string(REGEX MATCHALL "# [^\n]*" notes "${translated}")
    foreach(note ${notes})
      message(STATUS "hipcompat: ${note}")
    endforeach()
    separate_arguments(arguments UNIX_COMMAND "${arguments}")
    list(APPEND flags ${arguments})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(source MATCHES "\\.cu$")
      set_source_files_properties("${source}" PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${flags}")
    endif()
  endforeach()
endfunction()
