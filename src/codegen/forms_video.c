/* Which forms of the video instructions are known, and what the emitter needs of their text: the
 * parser has no fields for selectors and second operations. Source: PTX ISA, "Video Instructions".
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "codegen/forms.h"

static const struct {
    uint16_t opcode;
    uint8_t parts, what;
} video_ops[] = {
    {WEIR_PTX_OP_vadd, 1, V_ADD},          {WEIR_PTX_OP_vadd2, 2, V_ADD},
    {WEIR_PTX_OP_vadd4, 4, V_ADD},         {WEIR_PTX_OP_vsub, 1, V_SUB},
    {WEIR_PTX_OP_vsub2, 2, V_SUB},         {WEIR_PTX_OP_vsub4, 4, V_SUB},
    {WEIR_PTX_OP_vavrg2, 2, V_AVRG},       {WEIR_PTX_OP_vavrg4, 4, V_AVRG},
    {WEIR_PTX_OP_vabsdiff, 1, V_ABSDIFF},  {WEIR_PTX_OP_vabsdiff2, 2, V_ABSDIFF},
    {WEIR_PTX_OP_vabsdiff4, 4, V_ABSDIFF}, {WEIR_PTX_OP_vmin, 1, V_MIN},
    {WEIR_PTX_OP_vmin2, 2, V_MIN},         {WEIR_PTX_OP_vmin4, 4, V_MIN},
    {WEIR_PTX_OP_vmax, 1, V_MAX},          {WEIR_PTX_OP_vmax2, 2, V_MAX},
    {WEIR_PTX_OP_vmax4, 4, V_MAX},         {WEIR_PTX_OP_vset, 1, V_SET},
    {WEIR_PTX_OP_vset2, 2, V_SET},         {WEIR_PTX_OP_vset4, 4, V_SET},
    {WEIR_PTX_OP_vshl, 1, V_SHL},          {WEIR_PTX_OP_vshr, 1, V_SHR},
    {WEIR_PTX_OP_vmad, 1, V_MAD},
};

enum weir_cg_video weir_cg_video_kind(uint16_t opcode, unsigned *parts)
{
    for (size_t k = 0; k < sizeof video_ops / sizeof video_ops[0]; k++)
        if (video_ops[k].opcode == opcode) {
            *parts = video_ops[k].parts;
            return (enum weir_cg_video)video_ops[k].what;
        }
    *parts = 0;
    return VIDEO_NONE;
}

unsigned weir_cg_form_video_parts(uint16_t opcode)
{
    unsigned parts;
    (void)weir_cg_video_kind(opcode, &parts);
    return parts;
}

/* ---- selectors: "b0", "h1", "b3210", the first character in the lowest byte ---- */

unsigned weir_cg_video_selector_length(int64_t s)
{
    unsigned n = 0;
    while (n < 8 && (s >> (8 * n) & 0xff))
        n++;
    return n;
}

/* Digit k, counted from the end. */
unsigned weir_cg_video_digit(int64_t s, unsigned k)
{
    unsigned n = weir_cg_video_selector_length(s);
    return (unsigned)(s >> (8 * (n - 1 - k)) & 0xff) - '0';
}

static bool selector_ok(int64_t s, unsigned parts, bool is_dest)
{
    unsigned n = weir_cg_video_selector_length(s), limit;
    bool bytes = (s & 0xff) == 'b';
    if (s == 0)
        return true;
    if (!bytes && (s & 0xff) != 'h')
        return false;
    limit = parts == 1 ? (bytes ? 4 : 2) : is_dest ? parts : 2 * parts;
    if (parts == 1 ? n != 2 : bytes != (parts == 4) || (!is_dest && n != parts + 1) || n < 2)
        return false;
    for (unsigned k = 0; k + 1 < n; k++)
        if (weir_cg_video_digit(s, k) >= limit)
            return false;
    return n <= parts + 1;
}

static bool types_ok(const struct weir_ptx_inst *p, unsigned n)
{
    for (unsigned k = 0; k < 3; k++) {
        bool is = p->type[k] == WEIR_PTX_U32 || p->type[k] == WEIR_PTX_S32;
        if (k < n ? !is : p->type[k] != WEIR_PTX_NONE)
            return false;
    }
    return true;
}

/* The second operation, by the form's last word. */
enum weir_ptx_sub weir_cg_video_second(const struct weir_ptx_inst *p)
{
    const char *dot = strrchr(p->suffix, '.');
    if (!dot)
        return WEIR_PTX_SUB_NONE;
    return strcmp(dot, ".add") == 0   ? WEIR_PTX_SUB_ADD
           : strcmp(dot, ".min") == 0 ? WEIR_PTX_SUB_MIN
           : strcmp(dot, ".max") == 0 ? WEIR_PTX_SUB_MAX
                                      : WEIR_PTX_SUB_NONE;
}

/* The parser has no fields for all of these words. */
static bool words_ok(const struct weir_ptx_inst *p, enum weir_cg_video what)
{
    static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const ends[] = {"", ".add", ".min", ".max", ".shr7", ".shr15"};
    const char *t[3];
    char text[80];
    for (unsigned k = 0; k < 3; k++)
        t[k] = weir_ptx_type_name((enum weir_ptx_type)p->type[k]);
    if (what != V_SET && what != V_MAD)
        return p->sub != WEIR_PTX_SUB_OTHER && p->sub2 == WEIR_PTX_SUB_NONE;
    for (unsigned k = 0; k < 6; k++) {
        if (what == V_SET && k < 4)
            snprintf(text, sizeof text, ".%s.%s.%s%s", t[0], t[1], cmps[p->cmp - WEIR_PTX_EQ],
                     ends[k]);
        else
            snprintf(text, sizeof text, ".%s.%s.%s%s%s%s", t[0], t[1], t[2],
                     strstr(p->suffix, ".po") ? ".po" : "", p->sat ? ".sat" : "",
                     k == 0 || k > 3 ? ends[k] : "");
        if (strcmp(text, p->suffix) == 0)
            return true;
    }
    return false;
}

static bool operands_ok(const struct weir_ptx_inst *p, enum weir_cg_video what, unsigned parts)
{
    bool third = parts != 1 || what == V_MAD || p->operands[0].imm || weir_cg_video_second(p);
    if (p->operand_count != (third ? 4 : 3))
        return false;
    for (unsigned k = 0; k < p->operand_count; k++)
        if (p->operands[k].kind == WEIR_PTX_OPERAND_REG &&
            !(k < 3 ? selector_ok(p->operands[k].imm, parts, k == 0) : p->operands[k].imm == 0))
            return false;
    return !(parts != 1 && weir_cg_video_second(p) > WEIR_PTX_SUB_ADD) &&
           !(what == V_MAD && p->operands[0].imm);
}

bool weir_cg_form_video(const struct weir_ptx_inst *p)
{
    unsigned parts;
    enum weir_cg_video what = weir_cg_video_kind(p->opcode, &parts);
    if (p->dest_count != 1 || p->operands[0].kind != WEIR_PTX_OPERAND_REG ||
        !types_ok(p, what == V_SET ? 2 : 3))
        return false;
    if (what == V_SET && (p->cmp < WEIR_PTX_EQ || p->cmp > WEIR_PTX_GE))
        return false;
    if ((what == V_SHL || what == V_SHR) && p->clamp == p->wrap)
        return false;
    return words_ok(p, what) && operands_ok(p, what, parts);
}
