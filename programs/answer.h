/* answer.h: reads the answers of HTTP/1.1 from a connection, and drops them. */

#ifndef ANSWER_H
#define ANSWER_H

#include <sched_io.h>
#include <stdbool.h>

#include "program.h"

enum { BUFFER = 16384, LINE = 400 };

/* How a request has ended. BAD_STATUS: it was answered with a status from 400. */
enum result { ANSWERED, BAD_STATUS, TIMED_OUT, BROKEN, WRONG, NOT_CONNECTED, CANCELLED, RESULTS };

/* What has been read from a connection and not been used: the bytes from..to-1. */
struct stream {
    int fd;
    size_t from, to;
    long long received;
    sched_time deadline;
    bool ends; /* the server closes it after this answer */
    char bytes[BUFFER];
};

static OWN_ERRNO int last_error(void) { return errno; }

static enum result failure(void)
{
    int error = last_error();
    return error == ECANCELED ? CANCELLED : error == ETIMEDOUT ? TIMED_OUT : BROKEN;
}

static enum result fill(struct stream *in, struct scheduler *s)
{
    ssize_t n = sched_read_until(in->fd, in->bytes, BUFFER, in->deadline, s);
    if (n <= 0)
        return n == 0 ? BROKEN : failure();
    in->from = 0, in->to = (size_t)n, in->received += n;
    return ANSWERED;
}

/* Reads a line, without its end. What does not fit is dropped. */
static enum result read_line(struct stream *in, char line[LINE], struct scheduler *s)
{
    size_t length = 0;
    for (;;) {
        enum result result = in->from < in->to ? ANSWERED : fill(in, s);
        if (result != ANSWERED)
            return result;
        char c = in->bytes[in->from++];
        if (c == '\n')
            break;
        if (length < LINE - 1)
            line[length++] = c;
    }
    line[length > 0 && line[length - 1] == '\r' ? length - 1 : length] = '\0';
    return ANSWERED;
}

static enum result skip(struct stream *in, long long n, struct scheduler *s)
{
    for (;;) {
        size_t part = n < (long long)(in->to - in->from) ? (size_t)n : in->to - in->from;
        in->from += part, n -= (long long)part;
        if (n == 0)
            return ANSWERED;
        enum result result = fill(in, s);
        if (result != ANSWERED)
            return result;
    }
}

/* The body of an answer in chunks. */
static enum result skip_chunks(struct stream *in, struct scheduler *s)
{
    char line[LINE];
    enum result result;
    for (long long n = 1; n > 0;) {
        char *end;
        if ((result = read_line(in, line, s)) != ANSWERED)
            return result;
        n = strtoll(line, &end, 16);
        if (end == line || n < 0)
            return WRONG;
        if (n > 0 && ((result = skip(in, n, s)) != ANSWERED || (result = read_line(in, line, s)) != ANSWERED))
            return result;
    }
    do
        result = read_line(in, line, s); /* trailers, and an empty line */
    while (result == ANSWERED && line[0] != '\0');
    return result;
}

static enum result read_answer(struct stream *in, struct scheduler *s)
{
    char line[LINE];
    long long length = -1;
    int minor, status, has_status = 0;
    bool chunks = false, stays = true;
    for (;;) {
        enum result result = read_line(in, line, s);
        if (result != ANSWERED)
            return result;
        if (!has_status) {
            if (sscanf(line, "HTTP/1.%d %d", &minor, &status) != 2)
                return WRONG;
            stays = minor > 0;
            has_status = 1;
        } else if (line[0] == '\0' && status / 100 != 1) {
            break;
        } else if (line[0] == '\0') {
            has_status = 0; /* an interim answer */
        } else if (strncasecmp(line, "content-length:", 15) == 0) {
            length = strtoll(line + 15, NULL, 10);
        } else if (strncasecmp(line, "transfer-encoding:", 18) == 0) {
            chunks = strcasestr(line, "chunked") != NULL;
        } else if (strncasecmp(line, "connection:", 11) == 0) {
            stays = strcasestr(line, "close") == NULL && (stays || strcasestr(line, "keep-alive") != NULL);
        }
    }
    enum result result = ANSWERED;
    if (status == 204 || status == 304)
        length = 0;
    if (chunks)
        result = skip_chunks(in, s);
    else if (length >= 0)
        result = skip(in, length, s);
    else
        while ((result = fill(in, s)) == ANSWERED) {} /* until the end of the connection */
    bool until_end = !chunks && length < 0 && result == BROKEN;
    in->ends = until_end || !stays;
    return result != ANSWERED && !until_end ? result : status >= 400 ? BAD_STATUS : ANSWERED;
}

#endif
