// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/refusal.h"

static const struct {
    const char *word, *text;
} refusals[HS_REFUSAL_COUNT] = {
    [HS_REFUSAL_NONE] = {"none", "nothing"},
    [HS_REFUSAL_NO_HELLO] = {"no-hello", "it does not speak this version of heapsonde's protocol"},
    [HS_REFUSAL_ROLE] = {"no-device", "it is a host, too"},
    [HS_REFUSAL_SECURITY] = {"other-security", "one side has a key and the other has none"},
    [HS_REFUSAL_KEY] = {"wrong-key", "it does not have the key"},
    [HS_REFUSAL_SLOW] = {"slow", "it did not answer in time"},
    [HS_REFUSAL_LEFT] = {"left", "it closed the connection before it was accepted"},
    [HS_REFUSAL_CROWDED] = {"crowded", "too many connections"},
    [HS_REFUSAL_FRAME_SIZE] = {"frame-size", "a frame has an impossible length"},
    [HS_REFUSAL_FRAME] = {"bad-frame", "a frame is damaged or has another key"},
    [HS_REFUSAL_ORDER] = {"frame-order", "a frame is not allowed at this point"},
    [HS_REFUSAL_OFFSET] = {"offset", "the data does not continue the stream"},
    [HS_REFUSAL_STREAM] = {"bad-stream", "it does not describe its stream"},
    [HS_REFUSAL_HEADER] = {"no-trace", "the stream does not begin with the header of the trace"},
    [HS_REFUSAL_LESS] = {"less-than-stored", "it has less than what is already stored"},
    [HS_REFUSAL_NOT_SELECTED] = {"not-selected", "--select does not select it"},
    [HS_REFUSAL_DEVICE] = {"refused-by-device", "the device refuses"},
    [HS_REFUSAL_QUOTA_DEVICE] = {"device-quota", "the device's quota is used up"},
    [HS_REFUSAL_QUOTA] = {"quota", "the quota is used up"},
    [HS_REFUSAL_TOO_MANY] = {"too-many-traces", "too many traces"},
    [HS_REFUSAL_FILE] = {"file", "the file cannot be written"},
    [HS_REFUSAL_REPLACED] = {"replaced", "a new connection has its stream"},
    [HS_REFUSAL_ANNOUNCEMENT] = {"bad-announcement", "an announcement is damaged or has another key"},
    [HS_REFUSAL_TOPIC] = {"topic", "its topic is too long"},
};

const char *hs_refusal__word(enum hs_refusal refusal)
{
    return refusals[refusal].word;
}

const char *hs_refusal__text(enum hs_refusal refusal)
{
    return refusals[refusal].text;
}
