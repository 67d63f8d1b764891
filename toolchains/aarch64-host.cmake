# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The host half for AArch64: aarch64.cmake with the libraries of Debian that toolchains/sysroot unpacks.
include(${CMAKE_CURRENT_LIST_DIR}/aarch64.cmake)
set(HEAPSONDE_LIBRARIES ${HEAPSONDE_SYSROOT}/usr/lib/${HEAPSONDE_TRIPLET})
if(NOT EXISTS ${HEAPSONDE_LIBRARIES}/pkgconfig/libdw.pc)
  message(FATAL_ERROR "${HEAPSONDE_LIBRARIES} has no libdw: run toolchains/sysroot aarch64")
endif()
set(ENV{PKG_CONFIG_LIBDIR} ${HEAPSONDE_LIBRARIES}/pkgconfig:${HEAPSONDE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HEAPSONDE_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE ${HEAPSONDE_TRIPLET})
# The C library's own headers come with the cross compiler.
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_INIT
      "-idirafter '${HEAPSONDE_SYSROOT}/usr/include' -idirafter '${HEAPSONDE_SYSROOT}/usr/include/${HEAPSONDE_TRIPLET}'")
endforeach()
# CMake's cache takes away quotes that enclose a whole value.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT
      "-L'${HEAPSONDE_LIBRARIES}' -L'${HEAPSONDE_SYSROOT}/lib/${HEAPSONDE_TRIPLET}' -Wl,-rpath-link,'${HEAPSONDE_LIBRARIES}:${HEAPSONDE_SYSROOT}/lib/${HEAPSONDE_TRIPLET}'")
endforeach()
