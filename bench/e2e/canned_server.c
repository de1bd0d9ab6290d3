/*
 * A name server and broker that do no work: every send is answered with a prepared frame that carries its opaque, every request
 * for a route with a route to this server, everything else with success. Answers are of the kind of the request, JSON or
 * ROCKETMQ, and as long as those of a real broker. Prints its port; ends with its standard input.
 *
 * A thread for each connection that reads, answers what has come, and writes once: less than any client can do.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_BYTES = 1 << 20, OUT_BYTES = 1 << 19, LONGEST_ANSWER = 1024, SEND_MESSAGE_V2 = 310, GET_ROUTEINFO_BY_TOPIC = 105 };
enum { ONEWAY = 2, BINARY_HEAD = 21 };

static const char SEND_JSON[] =
    "{\"code\":0,\"extFields\":{\"queueId\":\"3\",\"transactionId\":\"C00002027CAA5FFD2B2795EA79650001\","
    "\"msgId\":\"7F0000020000759F0000000000010007\",\"TRACE_ON\":\"true\",\"MSG_REGION\":\"DefaultRegion\","
    "\"queueOffset\":\"1234567\"},\"flag\":1,\"language\":\"JAVA\",\"opaque\":";
static const char PLAIN_JSON[] = "{\"code\":0,\"flag\":1,\"language\":\"JAVA\",\"opaque\":";
static const char END_JSON[] = ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":513}";
static const char *const SEND_FIELDS[] = {
    "msgId",         "7F0000020000759F0000000000010007", "queueId",  "3",    "queueOffset", "1234567",
    "transactionId", "C00002027CAA5FFD2B2795EA79650001", "TRACE_ON", "true", "MSG_REGION",  "DefaultRegion", NULL};
static const char *const NO_FIELDS[] = {NULL};

static char route[512];
static unsigned char send_binary[LONGEST_ANSWER], plain_binary[LONGEST_ANSWER];
static size_t send_binary_length, plain_binary_length;

static uint32_t read32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void write32(unsigned char *at, uint32_t value) {
    at[0] = value >> 24, at[1] = value >> 16, at[2] = value >> 8, at[3] = value;
}

/* The digits behind a name, or -1. */
static long number_after(const unsigned char *header, size_t length, const char *name) {
    const char *found = memmem(header, length, name, strlen(name));
    return found ? strtol(found + strlen(name), NULL, 10) : -1;
}

static size_t binary_header(unsigned char *to, const char *const *fields) {
    unsigned char *at = to + BINARY_HEAD;
    memset(to, 0, BINARY_HEAD);
    to[3] = 513 >> 8, to[4] = 513 & 0xff, to[12] = 1;
    for (; *fields; fields += 2) {
        size_t name = strlen(fields[0]), value = strlen(fields[1]);
        at[0] = 0, at[1] = name;
        memcpy(at + 2, fields[0], name);
        write32(at + 2 + name, value);
        memcpy(at + 6 + name, fields[1], value);
        at += 6 + name + value;
    }
    write32(to + 17, at - to - BINARY_HEAD);
    return at - to;
}

static size_t json_header(unsigned char *to, const char *start, size_t length, uint32_t opaque) {
    char digits[10];
    int count = 0;
    unsigned char *at = to + length;
    memcpy(to, start, length);
    do digits[count++] = '0' + opaque % 10; while (opaque /= 10);
    while (count) *at++ = digits[--count];
    memcpy(at, END_JSON, sizeof END_JSON - 1);
    return at + sizeof END_JSON - 1 - to;
}

/* Writes the answer to one request; returns its length, 0 for a oneway request. */
static size_t answer(const unsigned char *frame, unsigned char *to) {
    uint32_t word = read32(frame + 4);
    size_t length = word & 0xffffff, header, body = 0;
    const unsigned char *request = frame + 8;
    int binary = word >> 24 == 1;
    long code, opaque, flag;
    if (binary) {
        if (length < BINARY_HEAD) return 0;
        code = request[0] << 8 | request[1], opaque = read32(request + 5), flag = read32(request + 9);
    } else {
        code = number_after(request, length, "\"code\":"), opaque = number_after(request, length, "\"opaque\":");
        /* Sends are never oneway here, and looking for the flag would be the larger part of the work. */
        flag = code == SEND_MESSAGE_V2 ? 0 : number_after(request, length, "\"flag\":");
    }
    if (flag & ONEWAY) return 0;
    if (binary) {
        header = code == SEND_MESSAGE_V2 ? send_binary_length : plain_binary_length;
        memcpy(to + 8, code == SEND_MESSAGE_V2 ? send_binary : plain_binary, header);
        write32(to + 13, opaque);
    } else if (code == SEND_MESSAGE_V2) header = json_header(to + 8, SEND_JSON, sizeof SEND_JSON - 1, opaque);
    else header = json_header(to + 8, PLAIN_JSON, sizeof PLAIN_JSON - 1, opaque);
    if (code == GET_ROUTEINFO_BY_TOPIC) {
        body = strlen(route);
        memcpy(to + 8 + header, route, body);
    }
    write32(to, 4 + header + body);
    write32(to + 4, header | (uint32_t)binary << 24);
    return 8 + header + body;
}

static int write_all(int socket, const unsigned char *bytes, size_t length) {
    while (length) {
        ssize_t written = write(socket, bytes, length);
        if (written <= 0) return 0;
        bytes += written, length -= written;
    }
    return 1;
}

static void *serve(void *argument) {
    int socket = (int)(intptr_t)argument;
    unsigned char *in = malloc(IN_BYTES), *out = malloc(OUT_BYTES);
    size_t have = 0;
    ssize_t got;
    while (in && out && (got = read(socket, in + have, IN_BYTES - have)) > 0) {
        size_t at = 0, filled = 0;
        have += got;
        while (have - at >= 8) {
            size_t frame = 4 + (size_t)read32(in + at);
            if (frame < 8 || frame > IN_BYTES || (read32(in + at + 4) & 0xffffff) > frame - 8) goto end;
            if (have - at < frame) break;
            if (OUT_BYTES - filled < LONGEST_ANSWER) {
                if (!write_all(socket, out, filled)) goto end;
                filled = 0;
            }
            filled += answer(in + at, out + filled);
            at += frame;
        }
        if (!write_all(socket, out, filled)) break;
        memmove(in, in + at, have - at);
        have -= at;
    }
end:
    free(in), free(out);
    close(socket);
    return NULL;
}

static void *accept_all(void *argument) {
    int listener = (int)(intptr_t)argument, one = 1;
    for (;;) {
        pthread_t thread;
        int socket = accept(listener, NULL, NULL);
        if (socket < 0) continue;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)socket)) close(socket);
        else pthread_detach(thread);
    }
    return NULL;
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    char byte;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 64) ||
        getsockname(listener, (struct sockaddr *)&address, &length)) {
        perror("canned_server");
        return 1;
    }
    snprintf(route, sizeof route,
             "{\"brokerDatas\":[{\"brokerAddrs\":{\"0\":\"127.0.0.1:%d\"},\"brokerName\":\"broker-a\",\"cluster\":\"DefaultCluster\"}],"
             "\"filterServerTable\":{},\"queueDatas\":[{\"brokerName\":\"broker-a\",\"perm\":6,\"readQueueNums\":8,"
             "\"topicSysFlag\":0,\"writeQueueNums\":8}]}",
             ntohs(address.sin_port));
    send_binary_length = binary_header(send_binary, SEND_FIELDS);
    plain_binary_length = binary_header(plain_binary, NO_FIELDS);
    if (pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener)) return 1;
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (read(0, &byte, 1) > 0) {}
    return 0;
}
