# SPDX-License-Identifier: MIT OR Apache-2.0
set(HEAPSONDE_TRIPLET arm-linux-gnueabi)
set(HEAPSONDE_DEBIAN_ARCHITECTURE armel)
set(HEAPSONDE_QEMU qemu-arm)
set(CMAKE_SYSTEM_PROCESSOR armv5tel)
include(${CMAKE_CURRENT_LIST_DIR}/gnu.cmake)
