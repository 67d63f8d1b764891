// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/text_stream.h"

#include <stdbool.h>
#include <stdlib.h>

FILE *hs_text_stream__open(struct hs_text_stream *self)
{
    *self = (struct hs_text_stream){0};
    self->out = open_memstream(&self->text, &self->size);
    return self->out;
}

char *hs_text_stream__close(struct hs_text_stream *self)
{
    if (!self->out)
        return NULL;
    bool failed = ferror(self->out);
    if (!fclose(self->out) && !failed)
        return self->text;
    free(self->text);
    self->text = NULL;
    self->size = 0;
    return NULL;
}
