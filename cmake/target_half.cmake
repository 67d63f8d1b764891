# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Flags for everything that runs inside the target process: no libc, no TLS call, no stack protector, frame pointers.
set(HEAPSONDE_TARGET_COMPILE_OPTIONS
    -O2 -fPIC -ffreestanding -fno-stack-protector -fno-omit-frame-pointer -ftls-model=initial-exec
    $<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns> -fno-builtin -fasynchronous-unwind-tables -U_FORTIFY_SOURCE)

# heapsonde_target_objects(NAME SOURCES...): an object library of the target half.
function(heapsonde_target_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_compile_options(${name} PRIVATE ${HEAPSONDE_TARGET_COMPILE_OPTIONS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# heapsonde_target_library(NAME VERSION_SCRIPT OBJECT_LIBRARIES...): a .so without DT_NEEDED and without versions.
function(heapsonde_target_library name script)
  set(objects)
  foreach(library ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C LINK_DEPENDS ${script})
  target_link_options(${name} PRIVATE -nostdlib -Wl,--hash-style=both -Wl,-z,now -Wl,-z,relro -Wl,--gc-sections
                      -Wl,--version-script=${script} -Wl,-z,noexecstack)
  target_link_libraries(${name} PRIVATE -lgcc)
endfunction()
