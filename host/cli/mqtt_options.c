// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/mqtt_options.h"

#include "host/gather/gather.h"

#include <string.h>

enum { MOST_ADDRESSES = 8, LONGEST_TOPIC = 512 };

static int refuse(const struct hs_arguments *arguments, const struct hs_error *error)
{
    hs_complain(arguments->command, "%s", error->message);
    return HS_EXIT_FAILURE;
}

static int check_address(const struct hs_arguments *arguments, const struct hs_shared_key *key, const char *url)
{
    struct hs_error error;
    struct hs_broker_url parts;
    struct hs_address addresses[MOST_ADDRESSES];
    bool insecure = hs_arguments__flag(arguments, "insecure");
    if (hs_broker_url__read(&parts, url, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_USAGE;
    }
    if (key->length || insecure)
        return 0;
    int count = hs_address__resolve(parts.address, addresses, MOST_ADDRESSES, &error);
    if (count < 0)
        return refuse(arguments, &error);
    for (int i = 0; i < count; i++)
        if (!hs_gather__may_use(&addresses[i], url, key, false, &error))
            return refuse(arguments, &error);
    return 0;
}

static bool is_right(const char *topic, bool filter)
{
    return strlen(topic) <= LONGEST_TOPIC && (filter ? hs_broker__is_filter(topic) : hs_broker__is_topic(topic));
}

int hs_mqtt_options__read(const struct hs_arguments *arguments, const struct hs_shared_key *key, bool filter,
                          struct hs_broker_options *options)
{
    const char *topic = hs_arguments__text(arguments, "topic", filter ? "heapsonde/#" : "heapsonde");
    *options = (struct hs_broker_options){.url = hs_arguments__text(arguments, "mqtt", NULL),
                                          .ca_file = hs_arguments__text(arguments, "mqtt-ca", NULL),
                                          .user = hs_arguments__text(arguments, "mqtt-user", NULL),
                                          .password_file = hs_arguments__text(arguments, "mqtt-password-file", NULL),
                                          .filter = topic};
    if (is_right(topic, filter))
        return check_address(arguments, key, options->url);
    hs_complain(arguments->command,
                filter ? "--topic %s is not a topic; it has at most 512 bytes, + stands for one level and # for all "
                         "that follow; shared subscriptions are not possible, because each gatherer needs every message"
                       : "--topic %s is not a topic to publish to; it has at most 512 bytes, and neither + nor #",
                topic);
    return HS_EXIT_USAGE;
}
