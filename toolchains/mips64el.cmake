# SPDX-License-Identifier: MIT OR Apache-2.0
set(HEAPSONDE_TRIPLET mips64el-linux-gnuabi64)
set(HEAPSONDE_DEBIAN_ARCHITECTURE mips64el)
set(HEAPSONDE_QEMU qemu-mips64el)
set(CMAKE_SYSTEM_PROCESSOR mips64el)
include(${CMAKE_CURRENT_LIST_DIR}/gnu.cmake)
