#include "ptx_frontend/isa/special_register.hpp"

#include <algorithm>
#include <iterator>

namespace ptxwire::ptx {
namespace {

using R = SpecialRegister;

// PTX ISA 9.0, chapter 10.
constexpr SpecialRegisterInfo kRegisters[] = {
    {"%aggr_smem_size", R::aggr_smem_size, Type::u32, 1, false, 81, 90},
    {"%clock", R::clock},
    {"%clock64", R::clock64, Type::u64, 1, false, 20, 20},
    {"%clock_hi", R::clock_hi, Type::u32, 1, false, 50, 20},
    {"%cluster_ctaid", R::cluster_ctaid_x, Type::u32, 1, true, 78, 90},
    {"%cluster_ctarank", R::cluster_ctarank, Type::u32, 1, false, 78, 90},
    {"%cluster_nctaid", R::cluster_nctaid_x, Type::u32, 1, true, 78, 90},
    {"%cluster_nctarank", R::cluster_nctarank, Type::u32, 1, false, 78, 90},
    {"%clusterid", R::clusterid_x, Type::u32, 1, true, 78, 90},
    {"%ctaid", R::ctaid_x, Type::u32, 1, true},
    {"%current_graph_exec", R::current_graph_exec, Type::u64, 1, false, 80, 50},
    {"%dynamic_smem_size", R::dynamic_smem_size, Type::u32, 1, false, 41, 20},
    {"%envreg", R::envreg0, Type::b32, 32, false, 21},
    {"%globaltimer", R::globaltimer, Type::u64, 1, false, 31, 30},
    {"%globaltimer_hi", R::globaltimer_hi, Type::u32, 1, false, 31, 30},
    {"%globaltimer_lo", R::globaltimer_lo, Type::u32, 1, false, 31, 30},
    {"%gridid", R::gridid, Type::u64},
    {"%is_explicit_cluster", R::is_explicit_cluster, Type::pred, 1, false, 78, 90},
    {"%laneid", R::laneid, Type::u32, 1, false, 13},
    {"%lanemask_eq", R::lanemask_eq, Type::u32, 1, false, 20, 20},
    {"%lanemask_ge", R::lanemask_ge, Type::u32, 1, false, 20, 20},
    {"%lanemask_gt", R::lanemask_gt, Type::u32, 1, false, 20, 20},
    {"%lanemask_le", R::lanemask_le, Type::u32, 1, false, 20, 20},
    {"%lanemask_lt", R::lanemask_lt, Type::u32, 1, false, 20, 20},
    {"%nclusterid", R::nclusterid_x, Type::u32, 1, true, 78, 90},
    {"%nctaid", R::nctaid_x, Type::u32, 1, true},
    {"%nsmid", R::nsmid, Type::u32, 1, false, 20, 20},
    {"%ntid", R::ntid_x, Type::u32, 1, true},
    {"%nwarpid", R::nwarpid, Type::u32, 1, false, 20, 20},
    {"%pm0", R::pm0, Type::u32, 1, false, 13},
    {"%reserved_smem_offset_", R::reserved_smem_offset_0, Type::b32, 2, false, 76, 80},
    {"%reserved_smem_offset_begin", R::reserved_smem_offset_begin, Type::b32, 1, false, 76, 80},
    {"%reserved_smem_offset_cap", R::reserved_smem_offset_cap, Type::b32, 1, false, 76, 80},
    {"%reserved_smem_offset_end", R::reserved_smem_offset_end, Type::b32, 1, false, 76, 80},
    {"%smid", R::smid, Type::u32, 1, false, 13},
    {"%tid", R::tid_x, Type::u32, 1, true},
    {"%total_smem_size", R::total_smem_size, Type::u32, 1, false, 41, 20},
    {"%warpid", R::warpid, Type::u32, 1, false, 13},
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::span<const SpecialRegisterInfo> special_registers() { return kRegisters; }

SpecialRegisterMatch find_special_register(std::string_view name) {
  // Ordinary registers (%r1, %rd12, %p3) leave here: no special register has a digit in these places, but
  // %pm0.
  if (name.size() < 4 || name[0] != '%' || is_digit(name[2]) || (is_digit(name[3]) && name[1] != 'p'))
    return {};
  const auto find = [](std::string_view key) -> const SpecialRegisterInfo* {
    const auto* row =
        std::lower_bound(std::begin(kRegisters), std::end(kRegisters), key,
                         [](const SpecialRegisterInfo& a, std::string_view b) { return a.name < b; });
    return row != std::end(kRegisters) && row->name == key ? row : nullptr;
  };
  if (const auto* row = find(name); row != nullptr && row->count == 1) return {row, row->first};
  size_t stem = name.size();
  unsigned number = 0, unit = 1;
  while (stem > 4 && name.size() - stem < 2 && is_digit(name[stem - 1])) {
    number += unit * static_cast<unsigned>(name[--stem] - '0');
    unit *= 10;
  }
  if (stem == name.size()) return {};
  const auto* row = find(name.substr(0, stem));
  if (row == nullptr || number >= row->count) return {};
  return {row, static_cast<SpecialRegister>(static_cast<unsigned>(row->first) + number)};
}

const SpecialRegisterInfo& special_register_info(SpecialRegister value) {
  const SpecialRegisterInfo* best = &kRegisters[0];
  for (const auto& row : kRegisters) {
    const unsigned first = static_cast<unsigned>(row.first);
    const unsigned count = row.vector ? 3 : row.count;
    if (static_cast<unsigned>(value) >= first && static_cast<unsigned>(value) < first + count) best = &row;
  }
  return *best;
}

}  // namespace ptxwire::ptx
