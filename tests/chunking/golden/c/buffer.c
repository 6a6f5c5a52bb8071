/* A growing buffer of bytes. */
#ifndef BUFFER_C
#define BUFFER_C

#include <stdlib.h>
#include <string.h>

#define BUFFER_START 64
#define BUFFER_MAX(a, b) ((a) > (b) ? (a) : (b))

/* What went wrong. */
enum buffer_error { BUFFER_OK, BUFFER_FULL };

typedef int (*buffer_visitor)(const char *bytes, size_t length);

struct buffer {
    char *bytes;
    size_t length, room; /* room is never below length */
};

typedef struct {
    int line, column;
} position;

static size_t grown = 0;

int buffer_append(struct buffer *b, const char *bytes, size_t length);

/* Make room for at least `room` bytes. The contents may move, so that no pointer into the
 * buffer outlives this call. */
static enum buffer_error buffer_reserve(struct buffer *b, size_t room)
{
    char *moved;
    if (room <= b->room)
        return BUFFER_OK;
    moved = realloc(b->bytes, BUFFER_MAX(room, 2 * b->room));
    if (!moved)
        return BUFFER_FULL;
    b->bytes = moved;
    b->room = BUFFER_MAX(room, 2 * b->room);
    grown++;
    return BUFFER_OK;
}

int buffer_append(struct buffer *b, const char *bytes, size_t length)
{
    if (buffer_reserve(b, b->length + length) != BUFFER_OK)
        return -1;
    memcpy(b->bytes + b->length, bytes, length);
    b->length += length;
    return 0;
}

#ifdef BUFFER_DEBUG
const char *buffer_name(void) { return "debug"; }
#else
const char *buffer_name(void) { return "plain"; }
#endif

#endif /* BUFFER_C */
