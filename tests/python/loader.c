// SPDX-License-Identifier: MIT OR Apache-2.0
//
// loader LIBRARY SCRIPT [ARGUMENTS]: runs a script with a libpython that it loads itself, and unloads it while another
// thread allocates. Says on standard error whether it is still loaded then. Exits with 77 if there is none.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef int python_main(int argc, char **argv);

static atomic_bool is_unloaded;

static void *allocate(void *unused)
{
    static void *volatile block;
    while (!is_unloaded) {
        block = malloc(10);
        free(block);
    }
    return unused;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    python_main *run = library ? (python_main *)dlsym(library, "Py_BytesMain") : NULL;
    pthread_t thread;
    if (!run)
        return 77;
    int status = run(argc - 1, argv + 1);
    if (pthread_create(&thread, NULL, allocate, NULL))
        abort();
    dlclose(library);
    is_unloaded = true;
    pthread_join(thread, NULL);
    fputs(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? "loaded\n" : "unloaded\n", stderr);
    return status;
}
