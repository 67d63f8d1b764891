# SPDX-License-Identifier: MIT OR Apache-2.0
#
# heapsonde_sanitize(TARGET): applies HEAPSONDE_SANITIZE to a host-side or test target.
function(heapsonde_sanitize name)
  if(HEAPSONDE_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${HEAPSONDE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${name} PRIVATE -fsanitize=${HEAPSONDE_SANITIZE})
  endif()
endfunction()
