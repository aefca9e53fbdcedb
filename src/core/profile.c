/* The built-in profiles. `cpu` is the default: capability 8.9 takes every PTX up to sm_89, so
 * programs take the paths that need no Hopper-only instructions. Limits of textures and surfaces
 * are those of that capability in NVIDIA's programming guide; what Weir does not carry out yet
 * (pools across processes, textures of arrays ...) says 0.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/profile.h"

#include <string.h>

#include "base/compiler.h"

static const struct weir_attribute cpu_attributes[] = {
    {1, 1024},     {2, 1024},    {3, 1024},     {4, 64},         {5, 2147483647},  {6, 65535},
    {7, 65535},    {8, 49152},   {9, 65536},    {10, 32},        {11, 2147483647}, {12, 65536},
    {13, 2000000}, {14, 512},    {15, 1},       {17, 0},         {18, 0},          {19, 1},
    {20, 0},       {21, 131072}, {22, 131072},  {23, 65536},     {24, 16384},      {25, 16384},
    {26, 16384},   {27, 32768},  {28, 32768},   {29, 2048},      {30, 512},        {31, 1},
    {32, 0},       {35, 0},      {36, 1600000}, {37, 128},       {38, 33554432},   {39, 1536},
    {40, 2},       {41, 1},      {42, 32768},   {43, 2048},      {45, 32768},      {46, 32768},
    {47, 8192},    {48, 8192},   {49, 32768},   {51, 32},        {52, 32768},      {53, 32768},
    {54, 2046},    {55, 32768},  {56, 131072},  {57, 65536},     {58, 16384},      {59, 16384},
    {60, 16384},   {61, 32768},  {62, 2048},    {63, 32768},     {64, 32768},      {65, 2048},
    {66, 32768},   {67, 32768},  {68, 2046},    {69, 268435456}, {70, 131072},     {71, 65000},
    {72, 2097120}, {73, 32768},  {74, 32768},   {77, 32768},     {78, 1},          {79, 1},
    {80, 1},       {81, 102400}, {82, 65536},   {83, 1},         {84, 0},          {85, 0},
    {86, 0},       {87, 2},      {88, 0},       {89, 1},         {90, 1},          {91, 1},
    {92, 0},       {93, 0},      {94, 0},       {95, 1},         {96, 0},          {97, 101376},
    {98, 0},       {99, 1},      {100, 0},      {101, 0},        {106, 24},        {108, 0},
    {109, 0},      {111, 1024},  {112, 0},      {113, 1},        {114, 0},         {115, 1},
    {116, 0},      {117, 0},     {118, 0},      {119, 0},        {120, 0},         {121, 0},
    {122, 0},      {123, 0},     {124, 0},      {125, 0},        {126, 1},         {127, 0},
    {128, 0},      {129, 0},     {130, 0},      {131, -1},       {132, 0},         {133, 0},
    {134, 0},      {135, 0},     {138, 0},      {139, 0},        {140, 0},         {141, 0},
    {142, 0},      {143, 0},     {144, 0},      {145, 0},        {147, 0},
};

static const struct weir_profile profiles[] = {
    {
        .name = "cpu",
        .device_name = "Weir CPU",
        .major = 8,
        .minor = 9,
        .attributes = cpu_attributes,
        .attribute_count = WEIR_ARRAY_SIZE(cpu_attributes),
        .register_unit = 8,
        .warp_register_unit = 256,
        .shared_unit = 128,
    },
};

const struct weir_profile *weir_profile_at(size_t n)
{
    return n < WEIR_ARRAY_SIZE(profiles) ? &profiles[n] : NULL;
}

const struct weir_profile *weir_profile_find(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_SIZE(profiles); i++) {
        if (strcmp(profiles[i].name, name) == 0)
            return &profiles[i];
    }
    return NULL;
}

bool weir_profile_attribute(const struct weir_profile *p, int id, int *value)
{
    size_t low = 0, high = p->attribute_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (p->attributes[mid].id == id) {
            *value = p->attributes[mid].value;
            return true;
        }
        if (p->attributes[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}
