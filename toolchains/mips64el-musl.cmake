# SPDX-License-Identifier: MIT OR Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/mips64el.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/musl.cmake)
