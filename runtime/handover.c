// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/handover.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/text.h"

#include <sys/socket.h>
#include <sys/uio.h>

struct handover_message {
    char byte;
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr header;
};

static void prepare(struct handover_message *message)
{
    *message = (struct handover_message){0};
    message->part = (struct iovec){&message->byte, 1};
    message->header.msg_iov = &message->part;
    message->header.msg_iovlen = 1;
    message->header.msg_control = message->control;
    message->header.msg_controllen = sizeof message->control;
}

static long new_socket(void)
{
    if (hs_system_forbids(HS_FORBIDDEN_SOCKETS))
        return -1; // EPERM
    return HS_SYSTEM3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

// An abstract name that nobody else uses. A process that takes it before us only prevents the transfer.
static void name(struct hs_handover *handover)
{
    struct hs_text text;
    handover->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    char *path = handover->address.sun_path + 1;
    hs_text__start(&text, path, sizeof handover->address.sun_path - 1);
    hs_text__add(&text, "heapsonde-");
    hs_text__add_number(&text, (uint64_t)hs_system_gettid());
    hs_text__add_character(&text, '-');
    hs_text__add_number(&text, hs_clock__monotonic_ns());
    handover->length = (unsigned)(text.at - (char *)&handover->address);
}

void hs_handover__expect(struct hs_handover *handover)
{
    name(handover);
    handover->socket = (int)new_socket();
    if (handover->socket >= 0 && HS_SYSTEM3(SYS_bind, handover->socket, &handover->address, handover->length) != 0)
        handover->length = 0;
}

void hs_handover__send(const struct hs_handover *handover, int fd)
{
    struct handover_message message;
    if (handover->socket < 0 || !handover->length)
        return;
    long socket = new_socket();
    if (socket < 0)
        return;
    prepare(&message);
    message.header.msg_name = (void *)&handover->address;
    message.header.msg_namelen = handover->length;
    struct cmsghdr *control = CMSG_FIRSTHDR(&message.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof fd);
    __builtin_memcpy(CMSG_DATA(control), &fd, sizeof fd);
    HS_SYSTEM3(SYS_sendmsg, socket, &message.header, MSG_DONTWAIT | MSG_NOSIGNAL);
    hs_system_close((int)socket);
}

int hs_handover__receive(struct hs_handover *handover)
{
    struct handover_message message;
    int fd = -1;
    if (handover->socket < 0)
        return fd;
    prepare(&message);
    long received = HS_SYSTEM3(SYS_recvmsg, handover->socket, &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *control = received == 1 ? CMSG_FIRSTHDR(&message.header) : NULL;
    if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS)
        __builtin_memcpy(&fd, CMSG_DATA(control), sizeof fd);
    hs_system_close(handover->socket);
    handover->socket = -1;
    return fd;
}
