// Loads, stores, cache control, fences and multimem (PTX ISA 9.7.9, 9.7.13).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr Requirement kScoped{60, 70};
constexpr Requirement kMultimem{81, 90};
constexpr Requirement k256Bit{88, 100};

constexpr InstructionForm kForms[] = {
    // ---- ld
    {"ld", Opcode::ld,
     "order?:weak@60 space?:LDSPACE cache?:ca|cg|cs|lu|cv l1?:L1EVICT@74 l2?:L2EVICT@88/100 "
     "prefetch?:L2PREFETCH@74 flag?:L2::cache_hint@74/80 vec?:v2|v4 type:DATA",
     "=V~, [A], policy"},
    {"ld",
     Opcode::ld,
     "order?:weak@60 space:global cache?:ca|cg|cs flag:nc l1?:L1EVICT@74 l2?:L2EVICT@88/100 "
     "prefetch?:L2PREFETCH@74 flag?:L2::cache_hint@74/80 vec?:v2|v4 type:DATA",
     "=V~, [A], policy",
     {31, 32}},
    {"ld",
     Opcode::ld,
     "order:volatile space?:LDSPACE prefetch?:L2PREFETCH@74 vec?:v2|v4 type:DATA",
     "=V~, [A]",
     {11}},
    {"ld", Opcode::ld,
     "order:relaxed|acquire scope:SCOPE space?:GSPACE l1?:L1EVICT@74 l2?:L2EVICT@88/100 "
     "prefetch?:L2PREFETCH@74 flag?:L2::cache_hint@74/80 vec?:v2|v4 type:DATA",
     "=V~, [A], policy", kScoped},
    {"ld",
     Opcode::ld,
     "order:relaxed|acquire scope:SCOPE space?:GSPACE l1?:L1EVICT l2?:L2EVICT@88/100 prefetch?:L2PREFETCH "
     "flag?:L2::cache_hint type:b128",
     "=T~, [A], policy",
     {83, 70}},
    {"ld",
     Opcode::ld,
     "order?:weak space?:LDSPACE l1?:L1EVICT prefetch?:L2PREFETCH flag?:L2::cache_hint type:b128",
     "=T~, [A], policy",
     {83, 70}},
    {"ld", Opcode::ld, "flag:mmio order:relaxed scope:sys space?:global type:DATA", "=T~, [A]", {82, 70}},
    {"ld", Opcode::ld,
     "order?:weak|volatile space:global flag?:nc l1?:L1EVICT l2?:L2EVICT prefetch?:L2PREFETCH "
     "flag?:L2::cache_hint vec:v8 type:b32|u32|s32|f32",
     "=V~, [A], policy", k256Bit, Support::checked_only},
    {"ld", Opcode::ld,
     "order?:weak|volatile space:global flag?:nc l1?:L1EVICT l2?:L2EVICT prefetch?:L2PREFETCH "
     "flag?:L2::cache_hint vec:v4 type:b64|u64|s64|f64",
     "=V~, [A], policy", k256Bit, Support::checked_only},
    {"ldu", Opcode::ldu, "space?:global vec?:v2|v4 type:DATA", "=V~, [A]", {20}},
    // ---- st
    {"st", Opcode::st,
     "order?:weak@60 space?:STSPACE cache?:wb|cg|cs|wt l1?:L1EVICT@74 l2?:L2EVICT@88/100 "
     "flag?:L2::cache_hint@74/80 vec?:v2|v4 type:DATA",
     "[A], V~, policy"},
    {"st", Opcode::st, "order:volatile space?:STSPACE vec?:v2|v4 type:DATA", "[A], V~", {11}},
    {"st", Opcode::st,
     "order:relaxed|release scope:SCOPE space?:GSPACE l1?:L1EVICT@74 l2?:L2EVICT@88/100 "
     "flag?:L2::cache_hint@74/80 vec?:v2|v4 type:DATA",
     "[A], V~, policy", kScoped},
    {"st",
     Opcode::st,
     "order:relaxed|release scope:SCOPE space?:GSPACE l1?:L1EVICT l2?:L2EVICT@88/100 flag?:L2::cache_hint "
     "type:b128",
     "[A], T~, policy",
     {83, 70}},
    {"st",
     Opcode::st,
     "order?:weak space?:STSPACE l1?:L1EVICT flag?:L2::cache_hint type:b128",
     "[A], T~, policy",
     {83, 70}},
    {"st",
     Opcode::st,
     "flag:mmio order:relaxed|release@90 scope:sys space?:global type:DATA",
     "[A], T~",
     {82, 70}},
    {"st", Opcode::st,
     "order?:weak|volatile space:global l1?:L1EVICT l2?:L2EVICT flag?:L2::cache_hint vec:v8 "
     "type:b32|u32|s32|f32",
     "[A], V~, policy", k256Bit, Support::checked_only},
    {"st", Opcode::st,
     "order?:weak|volatile space:global l1?:L1EVICT l2?:L2EVICT flag?:L2::cache_hint vec:v4 "
     "type:b64|u64|s64|f64",
     "[A], V~, policy", k256Bit, Support::checked_only},
    {"st.async",
     Opcode::st_async,
     "order?:weak space?:shared::cluster compl:mbarrier::complete_tx::bytes vec?:v2|v4 "
     "type:b32|b64|u32|u64|s32|s64|f32|f64",
     "[A], V, [A]",
     {81, 90},
     Support::checked_only},
    {"st.async",
     Opcode::st_async,
     "flag?:mmio order:release scope:gpu|sys space?:global "
     "type:b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
     "[A], T",
     {87, 100},
     Support::checked_only},
    {"st.bulk",
     Opcode::st_bulk,
     "order?:weak space?:shared::cta",
     "[A], u64, u64#0..0",
     {86, 100},
     Support::checked_only},
    // ---- cache control
    {"prefetch", Opcode::prefetch, "space?:global|local level:L1|L2", "[A]", {20, 20}},
    {"prefetch", Opcode::prefetch, "space:global level:L2::evict_last|L2::evict_normal", "[A]", {74, 80}},
    {"prefetch",
     Opcode::prefetch,
     "space?:const|param level:tensormap",
     "[A]",
     {80, 90},
     Support::checked_only},
    {"prefetchu", Opcode::prefetch, "level:L1", "[A]", {20, 20}},
    {"discard", Opcode::discard, "space?:global level:L2", "[A], u32#128..128", {74, 80}},
    {"applypriority",
     Opcode::applypriority,
     "space?:global level:L2::evict_normal",
     "[A], u32#128..128",
     {74, 80}},
    {"createpolicy",
     Opcode::createpolicy,
     "policy:fractional l2:L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged type:b64",
     "=T, f32?",
     {74, 80}},
    {"createpolicy",
     Opcode::createpolicy,
     "policy:fractional l2:L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "l2b:L2::evict_first|L2::evict_unchanged type:b64",
     "=T, f32?",
     {74, 80}},
    {"createpolicy",
     Opcode::createpolicy,
     "policy:range space?:global l2:L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "l2b?:L2::evict_first|L2::evict_unchanged type:b64",
     "=T, [A], u32, u32",
     {74, 80}},
    {"createpolicy", Opcode::createpolicy, "policy:cvt word:L2 type:b64", "=T, b64", {74, 80}},
    // ---- fences
    {"membar", Opcode::fence, "scope:cta|gl|sys", "", {14}},
    {"fence", Opcode::fence, "order?:sc|acq_rel|acquire@86/90|release@86/90 scope:SCOPE", "", kScoped},
    {"fence.mbarrier_init", Opcode::fence, "order:release scope:cluster", "", {80, 90}},
    {"fence.proxy", Opcode::fence, "proxy:alias", "", {75, 70}},
    {"fence.proxy", Opcode::fence, "proxy:async", "", {80, 90}},
    {"fence.proxy",
     Opcode::fence,
     "proxy:async::global|async::shared::cta|async::shared::cluster",
     "",
     {80, 90}},
    {"fence.proxy", Opcode::fence, "proxy:async space:global|shared::cta|shared::cluster", "", {80, 90}},
    {"fence.proxy", Opcode::fence, "proxy:tensormap::generic order:release scope:SCOPE", "", {83, 90}},
    {"fence.proxy",
     Opcode::fence,
     "proxy:tensormap::generic order:acquire scope:SCOPE",
     "[A], u32#128..128",
     {83, 90}},
    {"fence.proxy",
     Opcode::fence,
     "proxy:async::generic order:acquire|release "
     "word:sync_restrict::shared::cluster|sync_restrict::shared::cta scope:cluster",
     "",
     {86, 90}},
    {"membar.proxy", Opcode::fence, "proxy:alias", "", {75, 70}},
    {"membar.proxy", Opcode::fence, "proxy:async", "", {80, 90}},
    {"membar.proxy", Opcode::fence, "proxy:async space:global|shared::cta|shared::cluster", "", {80, 90}},
    // ---- NVLink SHARP
    {"multimem.ld_reduce", Opcode::multimem_ld_reduce,
     "order?:weak space?:global op:min|max|add|and|or|xor type:b32|b64|u32|u64|s32|s64", "=T, [A]", kMultimem,
     Support::checked_only},
    {"multimem.ld_reduce", Opcode::multimem_ld_reduce,
     "order:relaxed|acquire scope:SCOPE space?:global op:min|max|add|and|or|xor type:b32|b64|u32|u64|s32|s64",
     "=T, [A]", kMultimem, Support::checked_only},
    {"multimem.ld_reduce", Opcode::multimem_ld_reduce,
     "order?:weak space?:global op:min|max|add word?:acc::f32|acc::f16@86/100 vec?:v2|v4|v8@86/100 "
     "type:f16|f16x2|bf16|bf16x2|f32|f64",
     "=V, [A]", kMultimem, Support::checked_only},
    {"multimem.ld_reduce", Opcode::multimem_ld_reduce,
     "order:relaxed|acquire scope:SCOPE space?:global op:min|max|add word?:acc::f32|acc::f16@86/100 "
     "vec?:v2|v4|v8@86/100 type:f16|f16x2|bf16|bf16x2|f32|f64",
     "=V, [A]", kMultimem, Support::checked_only},
    {"multimem.st", Opcode::multimem_st,
     "order?:weak space?:global vec?:v2|v4|v8 type:b32|b64|u32|u64|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64",
     "[A], V", kMultimem, Support::checked_only},
    {"multimem.st", Opcode::multimem_st,
     "order:relaxed|release scope:SCOPE space?:global vec?:v2|v4|v8 "
     "type:b32|b64|u32|u64|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64",
     "[A], V", kMultimem, Support::checked_only},
    {"multimem.red", Opcode::multimem_red,
     "order?:relaxed|release scope?:SCOPE space?:global op:min|max|add|and|or|xor vec?:v2|v4|v8 "
     "type:b32|b64|u32|u64|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64",
     "[A], V", kMultimem, Support::checked_only},
};

}  // namespace

std::span<const InstructionForm> memory_forms() { return kForms; }

}  // namespace ptxwire::ptx
