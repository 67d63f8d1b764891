// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /resident: why resident memory is what it is.
#include "host/report/budget_write.h"
#include "host/rest/answers.h"

#include <errno.h>
#include <stdlib.h>

int hs_prepare__resident(struct hs_question *question)
{
    struct hs_budgets *budgets = calloc(1, sizeof(*budgets));
    if (!budgets)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = budgets;
    question->free_work = free;
    return hs_budgets__make(budgets, question->store, &question->control, &question->error);
}

int hs_answer__resident(struct hs_question *question, FILE *out)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_budgets__json(&json, question->work);
    hs_json__close_object(&json);
    return 0;
}
