/* The numbers of the rules of order; their text, documentation and probes are in docs/rules/ORD.md.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_MODEL_RULES_H
#define WEIR_MODEL_RULES_H

enum weir_rule {
    /* streams */
    WEIR_RULE_STREAM_IN_ORDER = 1,      /* ORD-001 */
    WEIR_RULE_STREAMS_INDEPENDENT = 2,  /* ORD-002 */
    WEIR_RULE_LEGACY_FOLLOWS = 3,       /* ORD-003 */
    WEIR_RULE_FOLLOWS_LEGACY = 4,       /* ORD-004 */
    WEIR_RULE_NONBLOCKING = 5,          /* ORD-005 */
    WEIR_RULE_PER_THREAD = 6,           /* ORD-006 */
    WEIR_RULE_LEGACY_RECORD_WAIT = 7,   /* ORD-007 */
    WEIR_RULE_LEGACY_QUERY_NO_EDGE = 8, /* ORD-008 */
    WEIR_RULE_DESTROY_RUNS_ON = 9,      /* ORD-009 */
    WEIR_RULE_DESTROYED_IN_LEGACY = 10, /* ORD-010 */
    WEIR_RULE_LEGACY_PER_DEVICE = 11,   /* ORD-011 */
    WEIR_RULE_LEGACY_PEER = 12,         /* ORD-012 */
    /* events */
    WEIR_RULE_RECORD_CAPTURES = 20,      /* ORD-020 */
    WEIR_RULE_WAIT_SNAPSHOT = 21,        /* ORD-021 */
    WEIR_RULE_RERECORD = 22,             /* ORD-022 */
    WEIR_RULE_NEVER_RECORDED = 23,       /* ORD-023 */
    WEIR_RULE_WAIT_SAME_STREAM = 24,     /* ORD-024 */
    WEIR_RULE_EVENT_DESTROYED = 25,      /* ORD-025 */
    WEIR_RULE_RECORD_BEHIND_LEGACY = 26, /* ORD-026 */
    WEIR_RULE_WAIT_ACROSS_DEVICES = 27,  /* ORD-027 */
    WEIR_RULE_TRANSITIVE = 28,           /* ORD-028 */
    /* graphs */
    WEIR_RULE_GRAPH_ITSELF = 30, /* ORD-030 */
    /* programmatic dependent launch */
    WEIR_RULE_EARLY_BEGIN = 31,        /* ORD-031 */
    WEIR_RULE_DEPENDENCY_WAIT = 32,    /* ORD-032 */
    WEIR_RULE_LAUNCH_COMPLETION = 33,  /* ORD-033 */
    WEIR_RULE_PROGRAMMATIC_EVENT = 34, /* ORD-034 */
    /* host waits */
    WEIR_RULE_STREAM_SYNC = 40,       /* ORD-040 */
    WEIR_RULE_LEGACY_SYNC = 41,       /* ORD-041 */
    WEIR_RULE_EMPTY_STREAM_SYNC = 42, /* ORD-042 */
    WEIR_RULE_DEVICE_SYNC = 43,       /* ORD-043 */
    WEIR_RULE_EVENT_SYNC = 44,        /* ORD-044 */
    /* memory freed in streams */
    WEIR_RULE_REUSE_IN_STREAM = 50,     /* ORD-050 */
    WEIR_RULE_REUSE_BEHIND_EVENT = 51,  /* ORD-051 */
    WEIR_RULE_REUSE_OPPORTUNISTIC = 52, /* ORD-052 */
    WEIR_RULE_FREED_SYNCED = 53,        /* ORD-053 */
    /* copies and memsets against the host */
    WEIR_RULE_COPY_ZERO = 60,          /* ORD-060 */
    WEIR_RULE_COPY_H2D_PAGEABLE = 61,  /* ORD-061 */
    WEIR_RULE_COPY_H2D_PINNED = 62,    /* ORD-062 */
    WEIR_RULE_COPY_D2H = 63,           /* ORD-063 */
    WEIR_RULE_COPY_D2D = 64,           /* ORD-064 */
    WEIR_RULE_COPY_H2H = 65,           /* ORD-065 */
    WEIR_RULE_COPY_MANAGED = 66,       /* ORD-066 */
    WEIR_RULE_ASYNC_H2D_STAGED = 67,   /* ORD-067 */
    WEIR_RULE_ASYNC_H2D_LARGE = 68,    /* ORD-068 */
    WEIR_RULE_ASYNC_D2H_PAGEABLE = 69, /* ORD-069 */
    WEIR_RULE_ASYNC_H2H = 70,          /* ORD-070 */
    WEIR_RULE_ASYNC_MANAGED = 71,      /* ORD-071 */
    WEIR_RULE_ASYNC_OTHER = 72,        /* ORD-072 */
    WEIR_RULE_MEMSET_DEVICE = 73,      /* ORD-073 */
    WEIR_RULE_MEMSET_HOST = 74,        /* ORD-074 */
    WEIR_RULE_MEMSET_ASYNC = 75,       /* ORD-075 */
    /* other calls against the host */
    WEIR_RULE_CALL_FREES = 80,     /* ORD-080 */
    WEIR_RULE_CALL_ALLOCATES = 81, /* ORD-081 */
    WEIR_RULE_CALL_DESTROYS = 82,  /* ORD-082 */
    WEIR_RULE_CALL_LOADS = 83,     /* ORD-083 */
    WEIR_RULE_CALL_RESETS = 84,    /* ORD-084 */
    WEIR_RULE_FREE_SYNCS = 87,     /* ORD-087 */
    /* limits */
    WEIR_RULE_QUEUE_DEPTH = 85,    /* ORD-085 */
    WEIR_RULE_STAGING_MEMORY = 86, /* ORD-086 */
    /* strict modes */
    WEIR_RULE_HARDWARE_QUEUE = 90, /* ORD-090 */
    WEIR_RULE_LAZY_LOADING = 91,   /* ORD-091 */
    WEIR_RULE_MANAGED_ACTIVE = 92, /* ORD-092 */
    /* inside a grid */
    WEIR_RULE_NESTED_STREAMS = 100,   /* ORD-100 */
    WEIR_RULE_NESTED_COMPLETE = 101,  /* ORD-101 */
    WEIR_RULE_NESTED_TAIL = 102,      /* ORD-102 */
    WEIR_RULE_NESTED_TAIL_TAIL = 103, /* ORD-103 */
};

#endif
