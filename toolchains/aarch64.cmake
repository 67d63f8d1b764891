# SPDX-License-Identifier: MIT OR Apache-2.0
set(HEAPSONDE_TRIPLET aarch64-linux-gnu)
set(HEAPSONDE_DEBIAN_ARCHITECTURE arm64)
set(HEAPSONDE_QEMU qemu-aarch64)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/gnu.cmake)
