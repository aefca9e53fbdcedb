/* A pipeline in C++ with what is installed: items go through, in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>

#include <weir/pipe.h>

static int fill(void *, weir_pipe_item *item)
{
    *static_cast<int *>(item->in) = static_cast<int>(item->number);
    return 0;
}

static int launch(void *, weir_pipe_item *item)
{
    return cudaMemcpyAsync(item->dev_out, item->dev_in, sizeof(int), cudaMemcpyDeviceToDevice, item->stream);
}

static int drain(void *user, weir_pipe_item *item)
{
    int *next = static_cast<int *>(user);
    return *static_cast<int *>(item->out) == (*next)++ ? 0 : 1;
}

int main()
{
    int next = 0;
    weir_pipe_config config;
    weir_pipe_config_init(&config);
    config.in_bytes = config.out_bytes = sizeof(int);
    config.fill = fill;
    config.launch = launch;
    config.drain = drain;
    config.user = &next;
    weir_pipe *pipe;
    weir_pipe_stats stats;
    if (weir_pipe_create(&config, &pipe) != WEIR_PIPE_OK)
        return 1;
    for (int i = 0; i < 100; i++)
        weir_pipe_submit(pipe, nullptr);
    weir_pipe_flush(pipe);
    weir_pipe_stats_get(pipe, &stats);
    weir_pipe_destroy(pipe);
    std::printf("%d of 100 items\n", static_cast<int>(stats.completed));
    return stats.completed != 100;
}
