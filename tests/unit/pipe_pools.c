/* The two pools by themselves, and the arithmetic of chunks.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/pipe.h"

static void test_pinned(void **state)
{
    weir_pipe_pinned *pool;
    void *a, *b, *c;
    size_t held, out;

    (void)state;
    assert_int_equal(weir_pipe_pinned_create(0, &pool), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_pinned_get(pool, 0, &a), WEIR_PIPE_INVALID);
    assert_int_equal(weir_pipe_pinned_get(pool, 5000, &a), WEIR_PIPE_OK);
    memset(a, 1, 5000);
    assert_int_equal(weir_pipe_pinned_get(pool, 6000, &b), WEIR_PIPE_OK);
    assert_ptr_not_equal(a, b);
    weir_pipe_pinned_bytes(pool, &held, &out);
    assert_int_equal(held, 2 * 6144);
    assert_int_equal(out, 2 * 6144);
    assert_int_equal(weir_pipe_pinned_put(pool, a), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_pinned_put(pool, a), WEIR_PIPE_INVALID);
    assert_int_equal(weir_pipe_pinned_put(pool, (char *)b + 1), WEIR_PIPE_INVALID);
    assert_int_equal(weir_pipe_pinned_get(pool, 4097, &c), WEIR_PIPE_OK);
    assert_ptr_equal(a, c); /* of the same class */
    assert_int_equal(weir_pipe_pinned_put(pool, b), WEIR_PIPE_OK);
    weir_pipe_pinned_trim(pool);
    weir_pipe_pinned_bytes(pool, &held, &out);
    assert_int_equal(held, 6144);
    weir_pipe_pinned_destroy(pool); /* c is still out */
    weir_pipe_pinned_destroy(NULL);
}

static void test_pinned_limit(void **state)
{
    weir_pipe_pinned *pool;
    void *a, *b;

    (void)state;
    assert_int_equal(weir_pipe_pinned_create(10000, &pool), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_pinned_get(pool, 4096, &a), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_pinned_get(pool, 8192, &b), WEIR_PIPE_FULL);
    assert_null(b);
    assert_int_equal(weir_pipe_pinned_put(pool, a), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_pinned_get(pool, 8192, &b), WEIR_PIPE_OK); /* the other made room */
    weir_pipe_pinned_destroy(pool);
}

static void wait_at_gate(void *gate)
{
    while (!__atomic_load_n((int *)gate, __ATOMIC_ACQUIRE))
        ;
}

/* A buffer that a stream still reads is nobody's. */
static void test_pinned_after(void **state)
{
    weir_pipe_pinned *pool;
    cudaStream_t stream;
    void *a, *b, *c;
    int gate = 0;

    (void)state;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(weir_pipe_pinned_create(0, &pool), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_pinned_get(pool, 4096, &a), WEIR_PIPE_OK);
    assert_int_equal(cudaLaunchHostFunc(stream, wait_at_gate, &gate), cudaSuccess);
    assert_int_equal(weir_pipe_pinned_put_after(pool, a, stream), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_pinned_get(pool, 4096, &b), WEIR_PIPE_OK);
    assert_ptr_not_equal(a, b);
    weir_pipe_pinned_trim(pool);
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(weir_pipe_pinned_get(pool, 4096, &c), WEIR_PIPE_OK);
    assert_ptr_equal(a, c);
    weir_pipe_pinned_destroy(pool);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void test_device_pool(void **state)
{
    weir_pipe_device_pool *pool;
    unsigned char host[64];
    cudaStream_t stream;
    size_t held, out;
    void *p, *q;

    (void)state;
    assert_int_equal(weir_pipe_device_pool_create(99, 0, &pool), WEIR_PIPE_CUDA);
    assert_null(pool);
    assert_int_equal(weir_pipe_device_pool_create(0, 1 << 20, &pool), WEIR_PIPE_OK);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(weir_pipe_device_pool_get(pool, 64, stream, &p), WEIR_PIPE_OK);
    weir_pipe_device_pool_bytes(pool, &held, &out);
    assert_true(out >= 64 && held >= out);
    assert_int_equal(cudaMemsetAsync(p, 7, 64, stream), cudaSuccess);
    assert_int_equal(cudaMemcpyAsync(host, p, 64, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    assert_int_equal(weir_pipe_device_pool_put(pool, p, stream), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_device_pool_get(pool, 64, stream, &q), WEIR_PIPE_OK);
    assert_int_equal(weir_pipe_device_pool_put(pool, q, stream), WEIR_PIPE_OK);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    assert_int_equal(host[63], 7);
    assert_int_equal(weir_pipe_device_pool_trim(pool, 0), WEIR_PIPE_OK);
    weir_pipe_device_pool_bytes(pool, &held, &out);
    assert_int_equal(out, 0);
    assert_int_equal(held, 0);
    weir_pipe_device_pool_destroy(pool);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void test_choose(void **state)
{
    weir_pipe_costs even = {.upload_us = 1000,
                            .compute_us = 1000,
                            .download_us = 1000,
                            .chunk_us = 5,
                            .host_us = 5,
                            .max_chunks = 64,
                            .max_slots = 8};
    weir_pipe_costs dear = even, bound = even;
    weir_pipe_choice choice;

    (void)state;
    assert_int_equal(weir_pipe_choose(&even, &choice), WEIR_PIPE_OK);
    assert_in_range(choice.chunks, 8, 32);
    assert_in_range(choice.slots, 3, 5);
    assert_true(choice.us < 0.5 * choice.serial_us);
    assert_false(choice.split);
    assert_non_null(strstr(choice.why, "chunks"));
    dear.chunk_us = 2000; /* a chunk costs more than it hides */
    assert_int_equal(weir_pipe_choose(&dear, &choice), WEIR_PIPE_OK);
    assert_int_equal(choice.chunks, 1);
    assert_int_equal(choice.slots, 1);
    bound.compute_us = 20000;
    assert_int_equal(weir_pipe_choose(&bound, &choice), WEIR_PIPE_OK);
    assert_true(choice.split);
    bound.max_slots = 0;
    assert_int_equal(weir_pipe_choose(&bound, &choice), WEIR_PIPE_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pinned),       cmocka_unit_test(test_pinned_limit),
        cmocka_unit_test(test_pinned_after), cmocka_unit_test(test_device_pool),
        cmocka_unit_test(test_choose),
    };
    return cmocka_run_group_tests_name("pipe_pools", tests, NULL, NULL);
}
