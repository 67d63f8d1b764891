# SPDX-License-Identifier: MIT OR Apache-2.0
set(HEAPSONDE_TRIPLET mips64-linux-gnuabi64)
set(HEAPSONDE_DEBIAN_ARCHITECTURE mips64)
set(HEAPSONDE_QEMU qemu-mips64)
set(CMAKE_SYSTEM_PROCESSOR mips64)
include(${CMAKE_CURRENT_LIST_DIR}/gnu.cmake)
