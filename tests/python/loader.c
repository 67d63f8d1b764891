// SPDX-License-Identifier: MIT OR Apache-2.0
//
// loader LIBRARY SCRIPT [ARGUMENTS]: runs a script with a libpython that it loads itself. Exits with 77 if there is
// none.
#include <dlfcn.h>
#include <stddef.h>

typedef int python_main(int argc, char **argv);

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    python_main *run = library ? (python_main *)dlsym(library, "Py_BytesMain") : NULL;
    return run ? run(argc - 1, argv + 1) : 77;
}
