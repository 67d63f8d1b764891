// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/analysis.h"

#include "unwind/code_ahead.h"
#include "unwind/code_frame.h"
#include "unwind/code_state.h"
#include "unwind/code_visits.h"
#include "unwind/work.h"

enum { PENDING_MAX = 2048, CONTINUATIONS_MAX = 512, SWITCHES_MAX = 32, CASES_MAX = 16384 };
enum { BODIES_MAX = 8, REVIVALS_MAX = 64, ROUNDS_MAX = 12 };

struct analysis_place {
    uintptr_t address;
    struct hs_code_state state;
};

struct analysis_body {
    uint32_t calls;
    struct hs_code_state state;
};

struct comparison {
    bool known;
    uint8_t reg, with;
};

struct analysis {
    const struct hs_decoder *decoder;
    const struct hs_code *code;
    uintptr_t at;
    bool exact;
    bool found;
    bool behind_call;         // the path has come from a call, and over nothing but padding since
    bool guessed;             // what was found started in a state that was not proven
    bool jumps_without_frame; // a jump through a register or memory
    bool revived;             // paths were started in code that none from the entry reaches
    uint32_t pending_count, continuation_count, switch_count, body_count;
    uint64_t switches_differ;   // bit n: on register n, and there were more
    uint32_t cases_left;        // of switches, that may still be looked at
    struct comparison compared; // by the instruction before
    struct hs_code_visits visits;
    struct hs_code_state result;
    struct hs_code_state start, untaken; // here rather than on the stack, which may be a small one of signal handlers
    struct analysis_place running;
    struct analysis_body bodies[BODIES_MAX]; // states at calls, one for each value of sp
    struct analysis_place pending[PENDING_MAX];
    struct analysis_place continuations[CONTINUATIONS_MAX]; // after calls, which may not come back
    struct analysis_place switches[SWITCHES_MAX];           // the last indirect jumps with a saved return address
};

static size_t places_in(const struct hs_decoder *decoder, size_t size)
{
    return hs_decoder_units(decoder, size) + 1;
}

size_t hs_analysis_memory_size(const struct hs_decoder *decoder, size_t size)
{
    return sizeof(struct analysis) + (sizeof(uint8_t) + sizeof(uint16_t)) * places_in(decoder, size);
}

// --- places

static bool inside(const struct analysis *analysis, uintptr_t address)
{
    return address - analysis->code->address < analysis->code->size;
}

static size_t place_of(const struct analysis *analysis, uintptr_t address)
{
    return hs_decoder_units(analysis->decoder, address - analysis->code->address);
}

static bool been_at(const struct analysis *analysis, uintptr_t address)
{
    return hs_code_visits__been_at(&analysis->visits, place_of(analysis, address));
}

static bool is_marked(const struct analysis *analysis, uintptr_t address, unsigned mark)
{
    return inside(analysis, address) && hs_code_visits__is(&analysis->visits, place_of(analysis, address), mark);
}

static bool is_data(const struct analysis *analysis, uintptr_t address)
{
    return is_marked(analysis, address, HS_PLACE_DATA);
}

static bool decode_at(const struct analysis *analysis, uintptr_t address, uint32_t *context,
                      struct hs_instruction *instruction)
{
    return hs_code__decode(analysis->decoder, analysis->code, address, context, instruction);
}

static void queue(struct analysis *analysis, uintptr_t address, const struct hs_code_state *state)
{
    address -= hs_decoder_rest(analysis->decoder, address); // of ARM: bit 0 says Thumb
    if (!inside(analysis, address) || analysis->pending_count == PENDING_MAX ||
        !hs_code_visits__await(&analysis->visits, place_of(analysis, address), state))
        return;
    struct analysis_place *place = &analysis->pending[analysis->pending_count++];
    place->address = address;
    place->state = *state;
    place->state.context = 0;
}

static bool case_target(const struct analysis *analysis, const struct hs_instruction *instruction, uint32_t number,
                        uintptr_t *target)
{
    uint64_t entry = number;
    if (instruction->case_size) {
        uintptr_t at = instruction->data + (uintptr_t)number * instruction->case_size - analysis->code->address;
        if (at > analysis->code->size || analysis->code->size - at < instruction->case_size)
            return false;
        entry = 0;
        for (unsigned i = 0; i < instruction->case_size && i < sizeof entry; i++)
            entry |= (uint64_t)analysis->code->bytes[at + i] << 8 * i;
        if (instruction->case_size == 4)
            entry = (uint64_t)(int64_t)(int32_t)entry;
    }
    *target = instruction->case_base + (uintptr_t)entry * instruction->case_scale;
    return true;
}

static void queue_cases(struct analysis *analysis, const struct hs_instruction *instruction,
                        const struct hs_code_state *state)
{
    uintptr_t target;
    for (uint32_t i = 0; i < instruction->case_count && analysis->cases_left; i++, analysis->cases_left--)
        if (case_target(analysis, instruction, i, &target))
            queue(analysis, target, state);
}

// Puts off what comes after a call. False when there is no room.
static bool queue_continuation(struct analysis *analysis, uintptr_t address, const struct hs_code_state *state)
{
    if (analysis->continuation_count == CONTINUATIONS_MAX)
        return false;
    analysis->continuations[analysis->continuation_count++] = (struct analysis_place){address, *state};
    return true;
}

// Code after calls is visited last, in the order of addresses.
static bool next_continuation(struct analysis *analysis, struct analysis_place *place)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < analysis->continuation_count; i++)
        if (analysis->continuations[i].address < analysis->continuations[first].address)
            first = i;
    if (!analysis->continuation_count)
        return false;
    *place = analysis->continuations[first];
    analysis->continuations[first] = analysis->continuations[--analysis->continuation_count];
    return true;
}

static bool next_place(struct analysis *analysis, struct analysis_place *place)
{
    analysis->behind_call = !analysis->pending_count;
    if (analysis->behind_call)
        return next_continuation(analysis, place);
    *place = analysis->pending[--analysis->pending_count];
    return true;
}

static bool is_base(const struct hs_code_state *state, unsigned number)
{
    const struct hs_code_value *value = &state->registers[number];
    return value->kind == HS_VALUE_CFA || (HS_DECODERS_ALIGN && value->kind == HS_VALUE_ALIGNED && state->cfa_slot);
}

// Whether a call could be made from here: the return address is kept, and sp or the frame pointer leads to it.
static bool has_frame(const struct hs_decoder *decoder, const struct hs_code_state *state)
{
    return (is_base(state, decoder->sp) || is_base(state, decoder->fp)) &&
           (decoder->ra == HS_DECODER_NO_REGISTER || state->saved & hs_register_bit(decoder->ra));
}

static bool states_agree(const struct hs_code_state *known, const struct hs_code_state *state, unsigned base)
{
    if (!hs_code_value__same(known->registers[base], state->registers[base]))
        return false;
    for (uint64_t both = known->saved & state->saved; both; both &= both - 1)
        if (known->slots[__builtin_ctzll(both)] != state->slots[__builtin_ctzll(both)])
            return false;
    return true;
}

// A switch takes the place of one that says no more, or else it is known that not all agree.
static void replace_switch(struct analysis *analysis, struct analysis_place *place, const struct hs_code_state *state)
{
    const struct hs_decoder *decoder = analysis->decoder;
    bool says_more = place->state.saved & ~state->saved;
    if (says_more || !states_agree(&place->state, state, decoder->sp))
        analysis->switches_differ |= hs_register_bit(decoder->sp);
    if (says_more || !states_agree(&place->state, state, decoder->fp))
        analysis->switches_differ |= hs_register_bit(decoder->fp);
}

// A function that has given its frame back jumps to another one.
static void note_switch(struct analysis *analysis, uintptr_t address, const struct hs_code_state *state)
{
    const struct hs_decoder *decoder = analysis->decoder;
    struct hs_code_value entry_sp = {decoder->entry_sp_from_cfa, HS_VALUE_CFA};
    if (hs_code_value__same(state->registers[decoder->sp], entry_sp)) {
        analysis->jumps_without_frame = true;
        return;
    }
    if (!has_frame(decoder, state))
        return;
    struct analysis_place *place = &analysis->switches[analysis->switch_count % SWITCHES_MAX];
    if (analysis->switch_count++ >= SWITCHES_MAX)
        replace_switch(analysis, place, state);
    place->address = address;
    place->state = *state;
}

static void note_call(struct analysis *analysis, const struct hs_code_state *state)
{
    unsigned sp = analysis->decoder->sp;
    if (!has_frame(analysis->decoder, state))
        return;
    uint32_t i = 0;
    while (i < analysis->body_count &&
           !hs_code_value__same(analysis->bodies[i].state.registers[sp], state->registers[sp]))
        i++;
    if (i == BODIES_MAX)
        return;
    if (i == analysis->body_count) {
        analysis->body_count++;
        analysis->bodies[i].state = *state;
    }
    analysis->bodies[i].calls++;
}

// --- paths

// True: the path ends there. It goes on where fp is believed, which a loop may change that leads there again.
static bool find(struct analysis *analysis, const struct hs_code_state *state)
{
    analysis->result = *state;
    analysis->found = true;
    return analysis->exact || !hs_code_state__is_in_chain(analysis->decoder, state);
}

// Whether the address that is asked for is in this instruction.
static bool asked_for(const struct analysis *analysis, uintptr_t address, const struct hs_instruction *instruction)
{
    return analysis->at - address < instruction->size && (!analysis->exact || analysis->at == address);
}

// Executes the instruction in the delay slot. Returns its size, 0 if the path ends there: it cannot be decoded, or is
// the one that is asked for.
static unsigned run_delay_slot(struct analysis *analysis, uintptr_t address, struct hs_code_state *state)
{
    struct hs_instruction instruction;
    if (!decode_at(analysis, address, &state->context, &instruction))
        return 0;
    hs_code_state__run(analysis->decoder, state, &instruction);
    return asked_for(analysis, address, &instruction) && find(analysis, state) ? 0 : instruction.size;
}

// Whether no instruction between the addresses, which are near each other, writes the register.
static bool keeps(const struct analysis *analysis, uintptr_t from, uintptr_t to, unsigned reg)
{
    enum { NEAR = 128 };
    uint32_t context = 0;
    struct hs_instruction instruction;
    if (to - from > NEAR) // or behind
        return false;
    for (; from < to; from += instruction.size) {
        if (!decode_at(analysis, from, &context, &instruction))
            return false;
        for (unsigned i = 0; i < instruction.count && i < HS_EFFECTS_MAX; i++)
            if (instruction.effects[i].reg == reg && instruction.effects[i].kind != HS_EFFECT_STORE)
                return false;
    }
    return true;
}

// A loop that probes the stack ends when sp, by then unknown, equals another register.
static void leave_loop(const struct analysis *analysis, uintptr_t address, const struct hs_instruction *branch,
                       struct hs_code_state *state)
{
    unsigned sp = analysis->decoder->sp, with = analysis->compared.with;
    if (with == sp)
        with = analysis->compared.reg;
    else if (analysis->compared.reg != sp)
        return;
    if (analysis->compared.known && branch->unless_equal && state->registers[sp].kind == HS_VALUE_UNKNOWN &&
        state->registers[with].kind == HS_VALUE_CFA && keeps(analysis, branch->target, address, with))
        state->registers[sp] = state->registers[with];
}

// The address at which control continues in a straight line after `instruction`; false: it does not.
static bool flow_on(struct analysis *analysis, uintptr_t address, const struct hs_instruction *instruction,
                    struct hs_code_state *state)
{
    queue_cases(analysis, instruction, state);
    switch ((enum hs_flow)instruction->flow) {
    case HS_FLOW_NEXT:
        return true;
    case HS_FLOW_CALL:
        hs_code_state__call(analysis->decoder, state);
        note_call(analysis, state);
        return true;
    case HS_FLOW_BRANCH:
        queue(analysis, instruction->target, state);
        leave_loop(analysis, address, instruction, state);
        return true;
    case HS_FLOW_JUMP:
        queue(analysis, instruction->target, state);
        return instruction->conditional;
    case HS_FLOW_INDIRECT:
        note_switch(analysis, address, state);
        return instruction->conditional;
    case HS_FLOW_RETURN:
    case HS_FLOW_STOP:
        return instruction->conditional;
    }
    return false;
}

// One instruction. False: the path ends.
static bool run_instruction(struct analysis *analysis, uintptr_t *address, struct hs_code_state *state)
{
    struct hs_instruction instruction;
    if (!decode_at(analysis, *address, &state->context, &instruction))
        return false;
    if (asked_for(analysis, *address, &instruction) && find(analysis, state))
        return false;
    uintptr_t next = *address + instruction.size;
    struct hs_code_state *untaken = &analysis->untaken;
    hs_code_state__run(analysis->decoder, state, &instruction);
    if (instruction.delay_slot) {
        if (instruction.likely)
            *untaken = *state;
        unsigned size = run_delay_slot(analysis, next, state);
        if (!size)
            return false;
        next += size;
    }
    bool goes_on = flow_on(analysis, *address, &instruction, state);
    analysis->behind_call = analysis->behind_call && hs_instruction__is_padding(&instruction);
    analysis->compared = (struct comparison){instruction.compares, instruction.compared, instruction.compared_with};
    if (goes_on && instruction.delay_slot && instruction.likely)
        *state = *untaken;
    *address = next;
    if (instruction.flow == HS_FLOW_CALL && !instruction.conditional && queue_continuation(analysis, next, state))
        return false;
    return goes_on;
}

// A call that never comes back is followed, after padding, by data or by code that others jump to with frames of their
// own.
static bool comes_back(struct analysis *analysis, uintptr_t address)
{
    return !been_at(analysis, address) && !is_marked(analysis, address, HS_PLACE_DATA | HS_PLACE_NO_RETURN) &&
           hs_code_visits__mark(&analysis->visits, place_of(analysis, address), HS_PLACE_BEHIND_CALL);
}

static void run_path(struct analysis *analysis, uintptr_t address, struct hs_code_state *state)
{
    analysis->compared.known = false;
    while (inside(analysis, address) && (!analysis->behind_call || comes_back(analysis, address)) &&
           hs_code_visits__come(&analysis->visits, place_of(analysis, address), state))
        if (!run_instruction(analysis, &address, state) || is_data(analysis, address))
            return;
}

static void run_all(struct analysis *analysis, uintptr_t address, const struct hs_code_state *start)
{
    struct analysis_place *place = &analysis->running;
    place->address = address;
    place->state = *start;
    analysis->behind_call = false;
    do {
        run_path(analysis, place->address, &place->state);
    } while (next_place(analysis, place));
}

// --- data in code

// If the data overlaps data that another instruction has marked, the rest is marked already.
static void note_data(struct analysis *analysis, const struct hs_instruction *instruction)
{
    uintptr_t unit = analysis->decoder->alignment;
    for (uintptr_t offset = 0; offset < instruction->data_size; offset += unit) {
        uintptr_t address = instruction->data + offset;
        if (!inside(analysis, address) ||
            !hs_code_visits__mark(&analysis->visits, place_of(analysis, address), HS_PLACE_DATA))
            return;
    }
}

// From the function's start to its end: constants come after the instructions that refer to them, so that they are
// known when they are met.
static void find_data(struct analysis *analysis)
{
    uint32_t context = 0;
    struct hs_instruction instruction;
    for (uintptr_t address = analysis->code->address; inside(analysis, address);) {
        if (is_data(analysis, address) || !decode_at(analysis, address, &context, &instruction)) {
            address += analysis->decoder->alignment;
            context = 0;
            continue;
        }
        note_data(analysis, &instruction);
        address += instruction.size;
    }
}

// --- code that no path reaches

// The instruction after the last visited one before `at`: there the unreached code starts.
static uintptr_t unreached_start(const struct analysis *analysis)
{
    uintptr_t unit = analysis->decoder->alignment, start = analysis->code->address;
    uintptr_t address = analysis->at - hs_decoder_rest(analysis->decoder, analysis->at - start);
    struct hs_instruction instruction;
    uint32_t context = 0;
    while (address > start && !been_at(analysis, address) && !is_data(analysis, address))
        address -= unit;
    if (!been_at(analysis, address) && !is_data(analysis, address))
        return start;
    if (is_data(analysis, address) || !decode_at(analysis, address, &context, &instruction))
        return address + unit;
    return address + instruction.size + (instruction.delay_slot ? instruction.size : 0);
}

static bool stores(const struct hs_instruction *instruction, unsigned reg)
{
    for (unsigned i = 0; i < instruction->count && i < HS_EFFECTS_MAX; i++)
        if (instruction->effects[i].kind == HS_EFFECT_STORE && instruction->effects[i].reg == reg)
            return true;
    return false;
}

// Finds where code may start in [from, at] that no path leads to.
struct starts {
    uintptr_t block;     // the last place after a jump
    uintptr_t candidate; // the last of them that looks like the start of a function
    uintptr_t function;  // the last candidate that saves the return address, without which it calls nothing; 0: none
};

static struct starts find_starts(const struct analysis *analysis, uintptr_t from)
{
    const struct hs_decoder *decoder = analysis->decoder;
    struct starts starts = {from, 0, 0};
    bool after_end = true, any = analysis->exact || decoder->ra == HS_DECODER_NO_REGISTER;
    uint32_t context = 0;
    struct hs_instruction instruction;
    for (uintptr_t address = from; address <= analysis->at && inside(analysis, address);) {
        size_t offset = address - analysis->code->address;
        if (after_end)
            starts.block = address;
        if (after_end && decoder->starts_function(analysis->code->bytes + offset, analysis->code->size - offset))
            starts.candidate = address;
        bool decoded = decode_at(analysis, address, &context, &instruction);
        address += decoded ? instruction.size : decoder->alignment;
        if (starts.candidate && (any || (decoded && stores(&instruction, decoder->ra))))
            starts.function = starts.candidate;
        bool padding = decoded && instruction.flow == HS_FLOW_NEXT && !instruction.count;
        after_end = !decoded || hs_instruction__ends_path(&instruction) || (after_end && padding);
        if (decoded && instruction.delay_slot)
            address += instruction.size;
    }
    return starts;
}

static const struct hs_code_state *nearest_switch(const struct analysis *analysis, uintptr_t before)
{
    const struct analysis_place *nearest = NULL;
    for (uint32_t i = 0; i < analysis->switch_count && i < SWITCHES_MAX; i++) {
        const struct analysis_place *place = &analysis->switches[i];
        if (place->address < before && (!nearest || place->address > nearest->address))
            nearest = place;
    }
    return nearest ? &nearest->state : NULL;
}

static const struct hs_code_state *most_common_body(const struct analysis *analysis)
{
    const struct analysis_body *most = NULL;
    for (uint32_t i = 0; i < analysis->body_count; i++)
        if (!most || analysis->bodies[i].calls > most->calls)
            most = &analysis->bodies[i];
    return most ? &most->state : NULL;
}

static bool all_switches_agree(const struct analysis *analysis, const struct hs_code_state *state, unsigned base)
{
    for (uint32_t i = 0; i < analysis->switch_count && i < SWITCHES_MAX; i++)
        if (!states_agree(&analysis->switches[i].state, state, base))
            return false;
    return !(analysis->switches_differ & hs_register_bit(base));
}

// Whether all known calls and switches of the function agree with `state` about the contents of register `base` and
// about the places of saved registers.
static bool all_bodies_agree(const struct analysis *analysis, const struct hs_code_state *state, unsigned base)
{
    bool any = analysis->body_count || analysis->switch_count;
    if (!is_base(state, base) || !any || analysis->body_count == BODIES_MAX)
        return false;
    for (uint32_t i = 0; i < analysis->body_count; i++)
        if (!states_agree(&analysis->bodies[i].state, state, base))
            return false;
    return all_switches_agree(analysis, state, base);
}

// The initial state of unreached code: the state of another place, as far as it holds in the whole function.
static void take_state(struct analysis *analysis, const struct hs_code_state *known, struct hs_code_state *state)
{
    const struct hs_decoder *decoder = analysis->decoder;
    // There arguments are pushed for calls, so that sp is not the same at all of them.
    bool pushes = decoder->ra == HS_DECODER_NO_REGISTER && analysis->switch_count;
    *state = *known;
    state->context = 0;
    if (all_bodies_agree(analysis, known, decoder->sp) || (pushes && all_switches_agree(analysis, known, decoder->sp)))
        return;
    if (all_bodies_agree(analysis, known, decoder->fp))
        state->registers[decoder->sp] = hs_value_unknown();
    else
        analysis->guessed = true;
}

// Starts again in the unreached code before `at`: where it begins, as long as there are tries left, then at the nearest
// place. False: nothing to start with.
static bool revive(struct analysis *analysis, bool last)
{
    uintptr_t from = unreached_start(analysis);
    struct hs_code_state *state = &analysis->start;
    analysis->revived = true;
    if (from > analysis->at || !HS_MAY_LOOK_AT(analysis->at - from))
        return false;
    struct starts starts = find_starts(analysis, from);
    hs_code_state__at_entry(analysis->decoder, state);
    if (starts.function && !analysis->code->entered) {
        analysis->guessed = true;
        run_all(analysis, starts.function, state);
        return true;
    }
    const struct hs_code_state *known = nearest_switch(analysis, from);
    if (!known)
        known = most_common_body(analysis);
    if (!known && analysis->switch_count) // the only one is behind
        known = &analysis->switches[0].state;
    if (known)
        take_state(analysis, known, state);
    else if (!analysis->jumps_without_frame)
        return false;
    else
        analysis->guessed = true; // these may be the cases of a function that has no frame
    run_all(analysis, last ? starts.block : from, state);
    return true;
}

// --- rounds

static void start_round(struct analysis *analysis)
{
    hs_code_visits__start_round(&analysis->visits);
    analysis->found = analysis->jumps_without_frame = analysis->revived = false;
    analysis->switch_count = analysis->body_count = 0;
    analysis->switches_differ = 0;
    analysis->cases_left = CASES_MAX;
}

// False: the paths did not agree on something, and the next round is to know.
static bool run_round(struct analysis *analysis)
{
    const struct hs_code *code = analysis->code;
    struct hs_code_state *start = &analysis->start;
    start_round(analysis);
    if (code->entered)
        hs_code_frame__state(analysis->decoder, code->entered, start);
    else
        hs_code_state__at_entry(analysis->decoder, start);
    analysis->guessed = code->entered && code->entered->guessed;
    run_all(analysis, code->entered ? code->entry : code->address, start);
    if (!hs_code_visits__settle(&analysis->visits))
        return false;
    for (int i = 1; i <= REVIVALS_MAX && !analysis->found && revive(analysis, i == REVIVALS_MAX); i++)
        hs_code_visits__settle(&analysis->visits);
    return !analysis->visits.changed;
}

static bool describe(const struct analysis *analysis, struct hs_code_frame *frame)
{
    const struct hs_described what = {analysis->decoder, &analysis->result, analysis->exact, analysis->guessed};
    return analysis->found && hs_code_frame__describe(&what, frame);
}

// What all paths to this place have in common.
static bool find_frame(struct analysis *analysis, struct hs_code_frame *frame)
{
    for (int round = 0; round < ROUNDS_MAX && HS_MAY_LOOK_AT(analysis->code->size); round++)
        if (run_round(analysis))
            return !analysis->visits.full && describe(analysis, frame);
    return false;
}

static void lay_out(struct analysis *analysis)
{
    struct hs_code_visits *visits = &analysis->visits;
    visits->decoder = analysis->decoder;
    visits->places = places_in(analysis->decoder, analysis->code->size);
    visits->depth_at = (uint16_t *)(analysis + 1);
    visits->marks = (uint8_t *)(visits->depth_at + visits->places);
}

bool hs_analyse(const struct hs_decoder *decoder, const struct hs_code *code, uintptr_t at, bool exact, void *memory,
                struct hs_code_frame *frame)
{
    struct analysis *analysis = memory;
    analysis->decoder = decoder;
    analysis->code = code;
    analysis->at = at;
    analysis->exact = exact;
    if (code->size > HS_ANALYSIS_CODE_MAX || !inside(analysis, at) || !HS_MAY_LOOK_AT(code->size))
        return false;
    lay_out(analysis);
    if (decoder->data_in_code)
        find_data(analysis);
    bool known = find_frame(analysis, frame);
    frame->guessed = analysis->guessed;
    frame->unreached = analysis->revived;
    bool proven = known && !frame->guessed && !(exact && frame->unreached);
    struct hs_frame_question question = {decoder, code, at, exact, false};
    // For a return address on the stack, the code ahead gives no information. Tested here, because the decoder may be a
    // constant.
    if (proven || decoder->ra == HS_DECODER_NO_REGISTER)
        return known;
    for (int calls = 0; calls <= exact; calls++) {
        question.past_calls = calls;
        if (hs_code_ahead(&question, frame))
            return true;
    }
    return known;
}
