// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/python_layout.h"

#define W (sizeof(void *))

static const struct hs_python_layout layouts[] = {
#define OLD_CODE                                                                                                       \
    .code_first_line = 2 * W + 24, .code_bytes = 3 * W + 24, .code_file = 10 * W + 24, .code_name = 11 * W + 24,       \
    .code_lines = 12 * W + 24, .ascii_text = 6 * W, .other_text = 9 * W, .bytes_text = 4 * W
#define OLD_FRAME .state_frame = 3 * W, .frame_previous = 3 * W, .frame_code = 4 * W
#define NEW_CODE  .code_file = 8 * W + 48, .code_name = 10 * W + 48, .code_lines = 11 * W + 48, .bytes_text = 4 * W
    {.minor = 8, .lines = HS_PYTHON_LNOTAB, .unit = 2, OLD_FRAME, .frame_instruction = 13 * W, OLD_CODE},
    {.minor = 9, .lines = HS_PYTHON_LNOTAB, .unit = 2, OLD_FRAME, .frame_instruction = 13 * W, OLD_CODE},
    {.minor = 10,
     .lines = HS_PYTHON_LINETABLE,
     .unit = 1,
     .state_record = 4 * W + 16,
     .record_previous = W,
     OLD_FRAME,
     .frame_instruction = 11 * W + 8,
     OLD_CODE},
    {.minor = 11,
     .run = HS_PYTHON_ENTRY,
     .lines = HS_PYTHON_LOCATIONS,
     .unit = 2,
     .state_record = 4 * W + 24,
     .record_frame = W,
     .record_previous = 2 * W,
     .frame_code = 4 * W,
     .frame_previous = 6 * W,
     .frame_instruction = 7 * W,
     .frame_end = 8 * W + 4,
     .frame_owner = 8 * W + 5,
     .code_first_line = 6 * W + 24,
     .code_first_traceable = 15 * W + 48,
     .code_bytes = 17 * W + 48,
     .ascii_text = 6 * W,
     .other_text = 9 * W,
     NEW_CODE},
#define NEWER                                                                                                          \
    .run = HS_PYTHON_BOUNDARY, .lines = HS_PYTHON_LOCATIONS, .unit = 2, .frame_code = 0, .frame_previous = W,          \
    .frame_instruction = 7 * W, .code_first_line = 6 * W + 20, .ascii_text = 5 * W, .other_text = 7 * W, NEW_CODE
    {.minor = 12,
     .state_record = 4 * W + 24,
     .frame_owner = 8 * W + 6,
     .code_first_traceable = 15 * W + 56,
     .code_bytes = 17 * W + 56,
     NEWER},
    {.minor = 13,
     .state_frame = 5 * W + 32,
     .frame_owner = 8 * W + 6,
     .code_first_traceable = 17 * W + 48,
     .code_bytes = 19 * W + 48,
     .said = {23, 31, 38, 43},
     NEWER},
#define NEWEST                                                                                                         \
    .state_frame = 5 * W + 32, .frame_owner = 9 * W + 2, .frame_code_tag = 3, .code_first_traceable = 18 * W + 48,     \
    .code_bytes = 20 * W + 48, NEWER
    {.minor = 14, .said = {26, 34, 43, 48}, NEWEST},
    {.minor = 15, .said = {26, 42, 51, 56}, NEWEST},
};
// Public functions that are new in a version.
static unsigned minor_before_11(void *(*find)(const char *name))
{
    return find("PyModule_AddObjectRef")       ? 10
           : find("PyObject_CallNoArgs")       ? 9
           : find("PyCode_NewWithPosOnlyArgs") ? 8
                                               : 0;
}

// Final releases and candidates: layouts are fixed from there on.
static unsigned minor_of(void *(*find)(const char *name))
{
    const unsigned long *version = find("Py_Version");
    if (!version)
        return minor_before_11(find);
    return *version >> 24 == 3 && (*version & 0xff) >= 0xc0 ? *version >> 16 & 0xff : 0;
}

// Since 3.13 the interpreter says some of its offsets. An interpreter that was built in another way has others.
static bool agrees(const struct hs_python_layout *layout, void *(*find)(const char *name))
{
    enum { IS_FREE_THREADED = 2 };
    const uint8_t *said = layout->said;
    if (!said[0])
        return true;
    const uint64_t *offsets = find("_PyRuntime");
    return offsets && !offsets[IS_FREE_THREADED] && offsets[said[0]] == layout->state_frame &&
           offsets[said[1]] == layout->frame_instruction && offsets[said[2]] == layout->code_lines &&
           offsets[said[3]] == layout->code_bytes;
}

const struct hs_python_layout *hs_python_layout__choose(void *(*find)(const char *name))
{
    unsigned minor = minor_of(find);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor)
            return agrees(&layouts[i], find) ? &layouts[i] : NULL;
    return NULL;
}
