// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/pending.h"

#include "host/base/array.h"

#include <errno.h>
#include <stdlib.h>

static bool before(const struct hs_pending_item *a, const struct hs_pending_item *b)
{
    return a->time != b->time ? a->time < b->time : a->row < b->row;
}

static int compare(const void *left, const void *right)
{
    const struct hs_pending_item *a = left, *b = right;
    return before(a, b) ? -1 : before(b, a);
}

void hs_pending__start(struct hs_pending *pending, size_t limit)
{
    *pending = (struct hs_pending){.limit = limit};
}

void hs_pending__free(struct hs_pending *pending)
{
    for (size_t i = 0; i < pending->runs; i++) {
        if (pending->run[i].file)
            fclose(pending->run[i].file);
    }
    free(pending->run);
    free(pending->item);
    *pending = (struct hs_pending){0};
}

// ---- runs ----------------------------------------------------------------------------------------------------------

static int advance(struct hs_pending_run *run)
{
    if (fread(&run->next, sizeof(run->next), 1, run->file) == 1)
        return 0;
    int result = ferror(run->file) ? -EIO : 0;
    fclose(run->file);
    run->file = NULL;
    return result;
}

static int add_run(struct hs_pending *pending, const struct hs_pending_item *item, size_t count)
{
    if (!HS_ARRAY_HAS_ROOM(pending->run, pending->runs, pending->run_room))
        return -ENOMEM;
    struct hs_pending_run *run = &pending->run[pending->runs];
    run->file = tmpfile();
    if (!run->file)
        return -errno;
    pending->runs++;
    if (fwrite(item, sizeof(*item), count, run->file) != count || fseek(run->file, 0, SEEK_SET))
        return errno ? -errno : -EIO;
    return advance(run);
}

// A sorted array is a heap.
static int spill(struct hs_pending *pending)
{
    size_t kept = pending->count / 2;
    qsort(pending->item, pending->count, sizeof(*pending->item), compare);
    int result = add_run(pending, pending->item + kept, pending->count - kept);
    pending->count = kept;
    return result;
}

// ---- the heap ------------------------------------------------------------------------------------------------------

static int make_room(struct hs_pending *pending)
{
    if (pending->count == pending->limit)
        return spill(pending);
    if (pending->count < pending->room)
        return 0;
    size_t room = pending->room ? 2 * pending->room : 1024;
    if (room > pending->limit)
        room = pending->limit;
    struct hs_pending_item *item = reallocarray(pending->item, room, sizeof(*item));
    if (!item)
        return -ENOMEM;
    pending->item = item;
    pending->room = room;
    return 0;
}

int hs_pending__add(struct hs_pending *pending, const struct hs_pending_item *item)
{
    int result = make_room(pending);
    if (result)
        return result;
    size_t at = pending->count++;
    for (; at && before(item, &pending->item[(at - 1) / 2]); at = (at - 1) / 2)
        pending->item[at] = pending->item[(at - 1) / 2];
    pending->item[at] = *item;
    return 0;
}

static void drop_top(struct hs_pending *pending)
{
    const struct hs_pending_item last = pending->item[--pending->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= pending->count)
            break;
        if (child + 1 < pending->count && before(&pending->item[child + 1], &pending->item[child]))
            child++;
        if (!before(&pending->item[child], &last))
            break;
        pending->item[at] = pending->item[child];
        at = child;
    }
    pending->item[at] = last;
}

// ---- the first of all ----------------------------------------------------------------------------------------------

static struct hs_pending_run *first_run(const struct hs_pending *pending)
{
    struct hs_pending_run *first = NULL;
    for (size_t i = 0; i < pending->runs; i++) {
        struct hs_pending_run *run = &pending->run[i];
        if (run->file && (!first || before(&run->next, &first->next)))
            first = run;
    }
    if (first && pending->count && before(&pending->item[0], &first->next))
        return NULL;
    return first;
}

bool hs_pending__first(const struct hs_pending *pending, struct hs_pending_item *item)
{
    const struct hs_pending_run *run = first_run(pending);
    if (!run && !pending->count)
        return false;
    *item = run ? run->next : pending->item[0];
    return true;
}

int hs_pending__drop_first(struct hs_pending *pending)
{
    struct hs_pending_run *run = first_run(pending);
    if (run)
        return advance(run);
    drop_top(pending);
    return 0;
}
