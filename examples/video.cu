/* Frames of 1280x720 grey pixels, blurred and thresholded one after another, as a camera would deliver them: the host
 * fills a frame's buffer, the device works, the host reads the result and checks every byte of it.
 *
 *   video [--form serial|round|chain] [--frames N] [--slots N]
 *
 * serial: copy in, compute, copy out, wait, next frame.
 * round:  each slot has buffers and a stream of its own; frames go round the slots.
 * chain:  one stream uploads, one computes, one downloads; events hand the frame on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <vector>

#include "common.h"

enum { WIDTH = 1280, HEIGHT = 720, PIXELS = WIDTH * HEIGHT, DISTINCT = 6, MAX_SLOTS = 16 };
enum { TILE_X = 32, TILE_Y = 8, RADIUS = 2, LEVEL = 120 };

typedef unsigned char pixel;

/* 1 4 6 4 1: the binomial weights, a gaussian in integers. The sum over both directions is 256. */
__host__ __device__ inline int weight(int d)
{
    return d == 0 ? 6 : d == 1 || d == -1 ? 4 : 1;
}

__host__ __device__ inline int clamped(int v, int limit)
{
    return v < 0 ? 0 : v >= limit ? limit - 1 : v;
}

/* A block loads its tile with a rim into shared memory, blurs the rows of all of it, then the columns of its own part. */
__global__ void blur(const pixel *in, pixel *out)
{
    __shared__ pixel tile[TILE_Y + 2 * RADIUS][TILE_X + 2 * RADIUS];
    __shared__ unsigned short rows[TILE_Y + 2 * RADIUS][TILE_X];
    const int left = blockIdx.x * TILE_X - RADIUS, top = blockIdx.y * TILE_Y - RADIUS;
    const int thread = threadIdx.y * TILE_X + threadIdx.x;

    for (int i = thread; i < (TILE_Y + 2 * RADIUS) * (TILE_X + 2 * RADIUS); i += TILE_X * TILE_Y) {
        const int y = i / (TILE_X + 2 * RADIUS), x = i % (TILE_X + 2 * RADIUS);
        tile[y][x] = in[clamped(top + y, HEIGHT) * WIDTH + clamped(left + x, WIDTH)];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE_Y + 2 * RADIUS; y += TILE_Y) {
        int sum = 0;
        for (int d = -RADIUS; d <= RADIUS; d++)
            sum += weight(d) * tile[y][threadIdx.x + RADIUS + d];
        rows[y][threadIdx.x] = (unsigned short)sum;
    }
    __syncthreads();
    const int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
    int sum = 128;
    for (int d = -RADIUS; d <= RADIUS; d++)
        sum += weight(d) * rows[threadIdx.y + RADIUS + d][threadIdx.x];
    out[y * WIDTH + x] = (pixel)(sum >> 8);
}

__global__ void threshold(pixel *image, int level)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < PIXELS)
        image[i] = image[i] > level ? 255 : 0;
}

/* What the device must give, by the plainest code. */
static void reference(const pixel *in, pixel *out)
{
    std::vector<int> rows(PIXELS);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int sum = 0;
            for (int d = -RADIUS; d <= RADIUS; d++)
                sum += weight(d) * in[y * WIDTH + clamped(x + d, WIDTH)];
            rows[y * WIDTH + x] = sum;
        }
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int sum = 128;
            for (int d = -RADIUS; d <= RADIUS; d++)
                sum += weight(d) * rows[clamped(y + d, HEIGHT) * WIDTH + x];
            out[y * WIDTH + x] = (sum >> 8) > LEVEL ? 255 : 0;
        }
}

/* A moving ramp with noise on it: no two of the distinct frames are alike, and the threshold cuts through. */
static void draw(pixel *image, int number)
{
    unsigned noise = 12345u + 977u * (unsigned)number;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            noise = 1664525u * noise + 1013904223u;
            image[y * WIDTH + x] = (pixel)(((x + 37 * number) / 5 + y / 4 + (int)(noise >> 27)) & 255);
        }
}

struct slot {
    pixel *host_in, *host_out, *in, *out;
    cudaStream_t stream;
    cudaEvent_t uploaded, computed, done;
    int frame; /* in flight here, -1: none */
};

static std::vector<pixel> source[DISTINCT], expected[DISTINCT];

static void compute(const slot &s, cudaStream_t stream)
{
    const dim3 threads(TILE_X, TILE_Y), blocks(WIDTH / TILE_X, HEIGHT / TILE_Y);
    blur<<<blocks, threads, 0, stream>>>(s.in, s.out);
    threshold<<<(PIXELS + 255) / 256, 256, 0, stream>>>(s.out, LEVEL);
    CHECK(cudaGetLastError());
}

/* Waits for the slot's frame and reads it. Returns 1 when it is wrong. */
static int collect(slot &s)
{
    if (s.frame < 0)
        return 0;
    CHECK(cudaEventSynchronize(s.done));
    const int wrong = memcmp(s.host_out, expected[s.frame % DISTINCT].data(), PIXELS) != 0;
    s.frame = -1;
    return wrong;
}

/* Into `up`, `work` and `down`, which may be one stream or three. */
static void submit(slot &s, int frame, cudaStream_t up, cudaStream_t work, cudaStream_t down)
{
    memcpy(s.host_in, source[frame % DISTINCT].data(), PIXELS); /* the camera */
    CHECK(cudaMemcpyAsync(s.in, s.host_in, PIXELS, cudaMemcpyHostToDevice, up));
    if (work != up) {
        CHECK(cudaEventRecord(s.uploaded, up));
        CHECK(cudaStreamWaitEvent(work, s.uploaded, 0));
    }
    compute(s, work);
    if (down != work) {
        CHECK(cudaEventRecord(s.computed, work));
        CHECK(cudaStreamWaitEvent(down, s.computed, 0));
    }
    CHECK(cudaMemcpyAsync(s.host_out, s.out, PIXELS, cudaMemcpyDeviceToHost, down));
    CHECK(cudaEventRecord(s.done, down));
    s.frame = frame;
}

static void make_slot(slot &s)
{
    CHECK(cudaMallocHost(&s.host_in, PIXELS));
    CHECK(cudaMallocHost(&s.host_out, PIXELS));
    CHECK(cudaMalloc(&s.in, PIXELS));
    CHECK(cudaMalloc(&s.out, PIXELS));
    CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&s.uploaded, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&s.computed, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
    s.frame = -1;
}

static void free_slot(slot &s)
{
    CHECK(cudaFreeHost(s.host_in));
    CHECK(cudaFreeHost(s.host_out));
    CHECK(cudaFree(s.in));
    CHECK(cudaFree(s.out));
    CHECK(cudaStreamDestroy(s.stream));
    CHECK(cudaEventDestroy(s.uploaded));
    CHECK(cudaEventDestroy(s.computed));
    CHECK(cudaEventDestroy(s.done));
}

int main(int argc, char **argv)
{
    const char *form = option(argc, argv, "--form", "round");
    const int frames = option_int(argc, argv, "--frames", 120);
    const bool serial = !strcmp(form, "serial"), chain = !strcmp(form, "chain");
    int slots = option_int(argc, argv, "--slots", 3);
    if (serial)
        slots = 1;
    if ((!serial && !chain && strcmp(form, "round")) || frames < 1 || slots < 1 || slots > MAX_SLOTS) {
        fprintf(stderr, "video: --form serial, round or chain; --frames from 1, --slots 1 to %d\n", MAX_SLOTS);
        return 2;
    }

    for (int i = 0; i < DISTINCT; i++) {
        source[i].resize(PIXELS);
        expected[i].resize(PIXELS);
        draw(source[i].data(), i);
        reference(source[i].data(), expected[i].data());
    }
    slot slot_of[MAX_SLOTS];
    for (int i = 0; i < slots; i++)
        make_slot(slot_of[i]);
    cudaStream_t up = slot_of[0].stream, down, work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking));

    /* The first frame loads the kernels: not part of the time. */
    submit(slot_of[0], 0, up, up, up);
    int wrong = collect(slot_of[0]);

    const double started = now_ms();
    for (int f = 0; f < frames; f++) {
        slot &s = slot_of[f % slots];
        wrong += collect(s);
        if (chain)
            submit(s, f, up, work, down);
        else
            submit(s, f, s.stream, s.stream, s.stream);
        if (serial)
            wrong += collect(s);
    }
    for (int f = frames; f < frames + slots; f++)
        wrong += collect(slot_of[f % slots]);
    const double ms = (now_ms() - started) / frames;

    for (int i = 0; i < slots; i++)
        free_slot(slot_of[i]);
    CHECK(cudaStreamDestroy(work));
    CHECK(cudaStreamDestroy(down));
    printf("%s: %d frames of %dx%d, %d slots, %d wrong\n", form, frames, WIDTH, HEIGHT, slots, wrong);
    printf("ms_per_frame = %.3f\n", ms);
    printf("RESULT %s\n", wrong ? "FAIL" : "PASS");
    return wrong != 0;
}
