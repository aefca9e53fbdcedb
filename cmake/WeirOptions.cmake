# SPDX-License-Identifier: Apache-2.0
# Flags for every target: interface library weir_flags.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
# gcc looks for a linker named ld.lld, which Debian's lld-19 has in its own folder only.
find_program(LLD_19 NAMES ld.lld-19 ld.lld)
set(WEIR_LLD)
if(LLD_19)
  file(REAL_PATH ${LLD_19} lld)
  get_filename_component(lld ${lld} DIRECTORY)
  if(EXISTS ${lld}/ld.lld)
    set(WEIR_LLD -B${lld} -fuse-ld=lld)
  endif()
endif()

add_library(weir_flags INTERFACE)
target_compile_definitions(weir_flags INTERFACE _GNU_SOURCE WEIR_VERSION="${PROJECT_VERSION}")
target_compile_options(weir_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef>
  -fno-strict-aliasing -fno-common)
target_include_directories(weir_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/api ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/gen)
if(WEIR_WERROR)
  target_compile_options(weir_flags INTERFACE -Werror)
endif()
if(WEIR_DEBUG_CHECKS OR CMAKE_BUILD_TYPE STREQUAL "Debug" OR WEIR_SANITIZE)
  target_compile_definitions(weir_flags INTERFACE WEIR_CHECKS=1)
endif()
if(WEIR_SANITIZE)
  # The sanitizer reaches libweir too: the tests preload its run time where the program itself is not instrumented.
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    # One shared run time for programs and libraries: clang's default, inside each program, leaves libraries without one.
    set(runtime asan)
    if(WEIR_SANITIZE MATCHES "thread")
      set(runtime tsan)
    endif()
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libclang_rt.${runtime}-x86_64.so
                    OUTPUT_VARIABLE WEIR_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(WEIR_SANITIZER_DIR "${WEIR_SANITIZER_RUNTIME}" DIRECTORY)
    # (Fuzzers, property WEIR_FUZZER, are programs alone: libFuzzer wants the other form.)
    set(shared $<NOT:$<BOOL:$<TARGET_PROPERTY:WEIR_FUZZER>>>)
    target_link_options(weir_flags INTERFACE
      $<${shared}:-shared-libsan> $<${shared}:-Wl,-rpath,${WEIR_SANITIZER_DIR}>)
    # GNU ld warns about what the run time uses.
    target_link_options(weir_flags INTERFACE ${WEIR_LLD})
  endif()
  if(WEIR_SANITIZE MATCHES "undefined")
    target_compile_options(weir_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
find_package(Threads REQUIRED)

# What a test of a whole program needs in its environment. Of a program without sanitizer over a libweir.so with one the
# run time must be preloaded (ASan insists on being the first); TSan's lock check needs more thread-local memory than the
# loader keeps for late libraries.
set(WEIR_PROGRAM_ENV
  "WEIR=${CMAKE_BINARY_DIR}/bin/weir" "SOURCE=${PROJECT_SOURCE_DIR}" "BUILD=${CMAKE_BINARY_DIR}" "CC=${CMAKE_C_COMPILER}"
  "SANITIZE=${WEIR_SANITIZE}" "SANITIZER_PRELOAD=${WEIR_SANITIZER_RUNTIME}"
  "WEIR_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache")
if(WEIR_SANITIZE MATCHES "thread")
  list(APPEND WEIR_PROGRAM_ENV "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536"
    "TSAN_OPTIONS=atexit_sleep_ms=50:suppressions='${PROJECT_SOURCE_DIR}/tests/support/tsan-suppressions.txt'")
endif()
