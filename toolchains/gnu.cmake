# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the toolchain files of the targets share: Debian's cross compiler, QEMU to run what it builds, and the root folder
# that toolchains/sysroot makes. Only programs that are run need that folder; the libraries for the target do not.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${HEAPSONDE_TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER ${HEAPSONDE_TRIPLET}-g++)
set(CMAKE_ASM_COMPILER ${HEAPSONDE_TRIPLET}-gcc)
get_filename_component(HEAPSONDE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroots/${HEAPSONDE_DEBIAN_ARCHITECTURE} ABSOLUTE)
set(CMAKE_CROSSCOMPILING_EMULATOR ${HEAPSONDE_QEMU} -L ${HEAPSONDE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH /usr/${HEAPSONDE_TRIPLET} ${HEAPSONDE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
