# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Included after a target's toolchain file: the same compiler with Debian's musl for that target.
set(HEAPSONDE_LIBC musl)
if(NOT EXISTS ${HEAPSONDE_SYSROOT}/musl.specs)
  message(FATAL_ERROR "${HEAPSONDE_SYSROOT}/musl.specs is not there: run toolchains/sysroot ${HEAPSONDE_DEBIAN_ARCHITECTURE}")
endif()
# The kernel's headers come with the cross compiler. Its helpers for atomics would ask glibc about the processor.
set(CMAKE_C_FLAGS_INIT "-specs=${HEAPSONDE_SYSROOT}/musl.specs -idirafter /usr/${HEAPSONDE_TRIPLET}/include")
if(HEAPSONDE_TRIPLET MATCHES "^aarch64")
  string(APPEND CMAKE_C_FLAGS_INIT " -mno-outline-atomics")
endif()
set(CMAKE_ASM_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
# The host finds a program of another machine by it.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,--build-id")
endforeach()
