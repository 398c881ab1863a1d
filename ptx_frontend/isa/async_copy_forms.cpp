// Asynchronous copies (PTX ISA 9.7.9.25 to 9.7.9.28).
#include "ptx_frontend/isa/instruction_form.hpp"

namespace ptxwire::ptx {
namespace {

constexpr Requirement kAmpere{70, 80};
constexpr Requirement kBulk{80, 90};
constexpr Requirement kReplace{83, 90, true};

constexpr InstructionForm kForms[] = {
    {"cp.async", Opcode::cp_async,
     "cache:ca space:shared|shared::cta sspace:global prefetch?:L2PREFETCH@74 flag?:L2::cache_hint@74",
     "[A], [B], u32#4..16/^, srcsize?, policy", kAmpere},
    {"cp.async", Opcode::cp_async,
     "cache:cg space:shared|shared::cta sspace:global prefetch?:L2PREFETCH@74 flag?:L2::cache_hint@74",
     "[A], [B], u32#16..16, srcsize?, policy", kAmpere},
    {"cp.async.commit_group", Opcode::cp_async_commit_group, "", "", kAmpere},
    {"cp.async.wait_group", Opcode::cp_async_wait_group, "", "u32#", kAmpere},
    {"cp.async.wait_all", Opcode::cp_async_wait_all, "", "", kAmpere},
    {"cp.async.mbarrier.arrive", Opcode::cp_async_mbarrier_arrive,
     "flag?:noinc space?:shared|shared::cta@78 type:b64", "[A]", kAmpere},
    {"cp.async.bulk", Opcode::cp_async_bulk,
     "space:shared::cluster sspace:global compl:mbarrier::complete_tx::bytes flag?:multicast::cluster "
     "flag?:L2::cache_hint",
     "[A], [B], bulksize, [shared], ctamask, policy", kBulk},
    {"cp.async.bulk",
     Opcode::cp_async_bulk,
     "space:shared::cta sspace:global compl:mbarrier::complete_tx::bytes flag?:L2::cache_hint",
     "[A], [B], bulksize, [shared], policy",
     {86, 90}},
    {"cp.async.bulk", Opcode::cp_async_bulk,
     "space:shared::cluster sspace:shared::cta compl:mbarrier::complete_tx::bytes",
     "[A], [B], bulksize, [shared]", kBulk},
    {"cp.async.bulk", Opcode::cp_async_bulk,
     "space:global sspace:shared::cta compl:bulk_group flag?:L2::cache_hint word?:cp_mask@86/100",
     "[A], [B], bulksize, policy", kBulk},
    {"cp.async.bulk.prefetch", Opcode::cp_async_bulk_prefetch, "level:L2 sspace:global flag?:L2::cache_hint",
     "[B], bulksize, policy", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:shared::cluster sspace:shared::cta compl:mbarrier::complete_tx::bytes op:and|or|xor type:b32",
     "[A], [B], bulksize, [shared]", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:shared::cluster sspace:shared::cta compl:mbarrier::complete_tx::bytes op:add type:u32|s32|u64",
     "[A], [B], bulksize, [shared]", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:shared::cluster sspace:shared::cta compl:mbarrier::complete_tx::bytes op:min|max type:u32|s32",
     "[A], [B], bulksize, [shared]", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:shared::cluster sspace:shared::cta compl:mbarrier::complete_tx::bytes op:inc|dec type:u32",
     "[A], [B], bulksize, [shared]", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:global sspace:shared::cta compl:bulk_group flag?:L2::cache_hint op:and|or|xor type:b32|b64",
     "[A], [B], bulksize, policy", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:global sspace:shared::cta compl:bulk_group flag?:L2::cache_hint op:add type:u32|s32|u64|f32|f64",
     "[A], [B], bulksize, policy", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:global sspace:shared::cta compl:bulk_group flag?:L2::cache_hint op:add flag:noftz type:f16|bf16",
     "[A], [B], bulksize, policy", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:global sspace:shared::cta compl:bulk_group flag?:L2::cache_hint op:min|max "
     "type:u32|s32|u64|s64|f16|bf16",
     "[A], [B], bulksize, policy", kBulk},
    {"cp.reduce.async.bulk", Opcode::cp_reduce_async_bulk,
     "space:global sspace:shared::cta compl:bulk_group flag?:L2::cache_hint op:inc|dec type:u32",
     "[A], [B], bulksize, policy", kBulk},
    {"cp.async.bulk.commit_group", Opcode::cp_async_bulk_commit_group, "", "", kBulk},
    {"cp.async.bulk.wait_group", Opcode::cp_async_bulk_wait_group, "flag?:read", "u32#", kBulk},
    // ---- tensor maps
    {"cp.async.bulk.tensor", Opcode::cp_async_bulk_tensor,
     "word:1d|2d|3d|4d|5d space:shared::cluster sspace:global word?:tile compl:mbarrier::complete_tx::bytes "
     "flag?:multicast::cluster word?:cta_group::1@86/100|cta_group::2@86/100 flag?:L2::cache_hint",
     "[A], tensor, [shared], ctamask, policy", kBulk},
    {"cp.async.bulk.tensor", Opcode::cp_async_bulk_tensor,
     "word:3d|4d|5d space:shared::cluster sspace:global word:im2col compl:mbarrier::complete_tx::bytes "
     "flag?:multicast::cluster word?:cta_group::1@86/100|cta_group::2@86/100 flag?:L2::cache_hint",
     "[A], tensor, [shared], vector, ctamask, policy", kBulk, Support::checked_only},
    {"cp.async.bulk.tensor",
     Opcode::cp_async_bulk_tensor,
     "word:1d|2d|3d|4d|5d space:shared::cta sspace:global word?:tile compl:mbarrier::complete_tx::bytes "
     "flag?:L2::cache_hint",
     "[A], tensor, [shared], policy",
     {86, 90}},
    {"cp.async.bulk.tensor",
     Opcode::cp_async_bulk_tensor,
     "word:3d|4d|5d space:shared::cta sspace:global word:im2col compl:mbarrier::complete_tx::bytes "
     "flag?:L2::cache_hint",
     "[A], tensor, [shared], vector, policy",
     {86, 90},
     Support::checked_only},
    {"cp.async.bulk.tensor", Opcode::cp_async_bulk_tensor,
     "word:1d|2d|3d|4d|5d space:global sspace:shared::cta word?:tile compl:bulk_group flag?:L2::cache_hint",
     "tensor, [B], policy", kBulk},
    {"cp.async.bulk.tensor", Opcode::cp_async_bulk_tensor,
     "word:3d|4d|5d space:global sspace:shared::cta word:im2col_no_offs compl:bulk_group "
     "flag?:L2::cache_hint",
     "tensor, [B], policy", kBulk, Support::checked_only},
    {"cp.reduce.async.bulk.tensor", Opcode::cp_reduce_async_bulk_tensor,
     "word:1d|2d|3d|4d|5d space:global sspace:shared::cta op:add|min|max|inc|dec|and|or|xor word?:tile "
     "compl:bulk_group flag?:L2::cache_hint",
     "tensor, [B], policy", kBulk},
    {"cp.reduce.async.bulk.tensor", Opcode::cp_reduce_async_bulk_tensor,
     "word:3d|4d|5d space:global sspace:shared::cta op:add|min|max|inc|dec|and|or|xor word:im2col_no_offs "
     "compl:bulk_group flag?:L2::cache_hint",
     "tensor, [B], policy", kBulk, Support::checked_only},
    {"cp.async.bulk.prefetch.tensor", Opcode::cp_async_bulk_prefetch_tensor,
     "word:1d|2d|3d|4d|5d level:L2 sspace:global word?:tile flag?:L2::cache_hint", "tensor, policy", kBulk},
    {"cp.async.bulk.prefetch.tensor", Opcode::cp_async_bulk_prefetch_tensor,
     "word:3d|4d|5d level:L2 sspace:global word:im2col flag?:L2::cache_hint", "tensor, vector, policy", kBulk,
     Support::checked_only},
    {"tensormap.cp_fenceproxy",
     Opcode::tensormap_copy,
     "space:global sspace:shared::cta proxy:tensormap::generic order:release scope:SCOPE flag:sync "
     "flag:aligned",
     "[A], [B], u32#128..128",
     {83, 90}},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:global_address space?:global|shared::cta word:b1024 type:b64", "[A], b64", kReplace},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:rank space?:global|shared::cta word:b1024 type:b32", "[A], b32", kReplace},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:box_dim|global_dim|element_stride space?:global|shared::cta word:b1024 type:b32",
     "[A], u32#0..4, b32", kReplace},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:global_stride space?:global|shared::cta word:b1024 type:b64", "[A], u32#0..4, b64",
     kReplace},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:elemtype space?:global|shared::cta word:b1024 type:b32", "[A], u32#0..12", kReplace},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:interleave_layout space?:global|shared::cta word:b1024 type:b32", "[A], u32#0..2",
     kReplace},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:swizzle_mode space?:global|shared::cta word:b1024 type:b32", "[A], u32#0..3", kReplace},
    {"tensormap.replace", Opcode::tensormap_replace,
     "word:tile word:fill_mode space?:global|shared::cta word:b1024 type:b32", "[A], u32#0..1", kReplace},
};

}  // namespace

std::span<const InstructionForm> async_copy_forms() { return kForms; }

}  // namespace ptxwire::ptx
