/* weir explore started by mpirun or srun: which rank this process is, and that none ends before all
 * have. mpirun ends the others as soon as one has an exit status other than 0. So, where the
 * launcher's MPI library is there, all meet in it; it is opened only then, after the last run.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/explore.h"

/* Open MPI's binary interface, and the one that MPICH and its relatives share. */
enum abi { NONE, OPEN_MPI, MPICH };

static const struct launcher {
    const char *rank, *size;
    enum abi abi;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", OPEN_MPI},
    {"PMI_RANK", "PMI_SIZE", MPICH},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", MPICH},
    {"PMIX_RANK", "PMIX_SIZE", NONE},
    {"SLURM_PROCID", "SLURM_NTASKS", NONE}, /* srun ends nobody */
};

static const struct launcher *find(int *rank, int *ranks)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const char *r = getenv(launchers[i].rank), *n = getenv(launchers[i].size);

        if (!r || !n || atoi(n) < 1 || atoi(r) < 0 || atoi(r) >= atoi(n))
            continue;
        *rank = atoi(r);
        *ranks = atoi(n);
        return &launchers[i];
    }
    *rank = 0;
    *ranks = 1;
    return NULL;
}

void weir_explore_ranks_find(int *rank, int *ranks)
{
    (void)find(rank, ranks);
}

static bool meet(void *library, enum abi abi)
{
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(library, "MPI_Init");
    int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
    void *barrier = dlsym(library, "MPI_Barrier");
    void *world = abi == OPEN_MPI ? dlsym(library, "ompi_mpi_comm_world") : NULL;

    if (!init || !finalize || !barrier || (abi == OPEN_MPI && !world) || init(NULL, NULL) != 0)
        return false;
    if (abi == OPEN_MPI)
        (void)((int (*)(void *))barrier)(world);
    else
        (void)((int (*)(int))barrier)(0x44000000); /* MPI_COMM_WORLD */
    return finalize() == 0;
}

void weir_explore_ranks_meet(void)
{
    static const char *const names[][3] = {
        [OPEN_MPI] = {"libmpi.so.40", "libmpi.so", NULL},
        [MPICH] = {"libmpi.so.12", "libmpich.so.12", NULL},
    };
    int rank, ranks;
    const struct launcher *l = find(&rank, &ranks);
    void *library = NULL;

    if (!l || l->abi == NONE || ranks < 2)
        return;
    for (const char *const *name = names[l->abi]; !library && *name; name++)
        library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
    if (library && meet(library, l->abi))
        return;
    if (rank == 0)
        fprintf(stderr,
                "weir explore: without the launcher's MPI library the ranks do not wait for each "
                "other, and the first that ends may end the others\n");
}
