// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/explain.h"

#include "host/base/json.h"

#include <errno.h>

bool hs_explain__is_wanted(const struct hs_question *question)
{
    return question->trace && !question->endpoint->uncached && hs_question__number(question, "explain", 0);
}

static int discard_answer(struct hs_question *question)
{
    FILE *nowhere = fopen("/dev/null", "we");
    int result = nowhere ? question->endpoint->write(question, nowhere) : -errno;
    if (nowhere)
        fclose(nowhere);
    return result;
}

int hs_explain__write(struct hs_question *question, const struct hs_explanation *explanation, FILE *out)
{
    struct hs_json json;
    int result = discard_answer(question);
    if (result)
        return result;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "parts");
    for (size_t i = 0; i < explanation->count; i++) {
        const struct hs_explained *part = &explanation->part[i];
        hs_json__open_object(&json, NULL);
        hs_json__string(&json, "asked", part->asked);
        hs_json__string(&json, "answered_by", hs_answered_by__name(part->by));
        hs_json__string(&json, "meaning", hs_answered_by__meaning(part->by));
        hs_json__number(&json, "times", part->times);
        hs_json__close_object(&json);
    }
    hs_json__close_array(&json);
    hs_json__number(&json, "more_parts", explanation->more);
    hs_json__close_object(&json);
    return 0;
}
