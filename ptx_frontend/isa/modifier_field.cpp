#include "ptx_frontend/isa/modifier_field.hpp"

#include <span>

namespace ptxwire::ptx {
namespace {

struct FieldName {
  std::string_view name;
  ModifierField field;
};

using F = ModifierField;

constexpr FieldName kFields[] = {
    {"word", F::word},         {"flag", F::flag},     {"type", F::type},   {"stype", F::stype},
    {"space", F::space},       {"sspace", F::sspace}, {"rnd", F::rnd},     {"cmp", F::cmp},
    {"bool", F::boolean},      {"half", F::half},     {"order", F::order}, {"scope", F::scope},
    {"cache", F::cache},       {"l1", F::l1},         {"l2", F::l2},       {"l2b", F::l2b},
    {"prefetch", F::prefetch}, {"op", F::op},         {"shfl", F::shfl},   {"vote", F::vote},
    {"match", F::match},       {"prmt", F::prmt},     {"shift", F::shift}, {"bar", F::bar},
    {"compl", F::completion},  {"vec", F::vec},       {"testp", F::testp}, {"policy", F::policy},
    {"level", F::level},       {"proxy", F::proxy}};

struct WordValue {
  ModifierField field;
  std::string_view word;
  uint8_t value;
  uint8_t second = 0;  ///< space: sub-space
};

template <typename Enum>
constexpr uint8_t as(Enum value) {
  return static_cast<uint8_t>(value);
}

constexpr uint8_t kCta = as(SubSpace::cta), kCluster = as(SubSpace::cluster);

constexpr WordValue kWords[] = {
    {F::space, "global", as(Space::global)},
    {F::space, "const", as(Space::constant)},
    {F::space, "local", as(Space::local)},
    {F::space, "shared", as(Space::shared)},
    {F::space, "shared::cta", as(Space::shared), kCta},
    {F::space, "shared::cluster", as(Space::shared), kCluster},
    {F::space, "param", as(Space::param)},
    {F::space, "param::entry", as(Space::param), as(SubSpace::entry)},
    {F::space, "param::func", as(Space::param), as(SubSpace::func)},
    {F::rnd, "rn", as(Rounding::rn)},
    {F::rnd, "rz", as(Rounding::rz)},
    {F::rnd, "rm", as(Rounding::rm)},
    {F::rnd, "rp", as(Rounding::rp)},
    {F::rnd, "rna", as(Rounding::rna)},
    {F::rnd, "rni", as(Rounding::rni)},
    {F::rnd, "rzi", as(Rounding::rzi)},
    {F::rnd, "rmi", as(Rounding::rmi)},
    {F::rnd, "rpi", as(Rounding::rpi)},
    {F::rnd, "rs", as(Rounding::rs)},
    {F::cmp, "eq", as(Compare::eq)},
    {F::cmp, "ne", as(Compare::ne)},
    {F::cmp, "lt", as(Compare::lt)},
    {F::cmp, "le", as(Compare::le)},
    {F::cmp, "gt", as(Compare::gt)},
    {F::cmp, "ge", as(Compare::ge)},
    {F::cmp, "lo", as(Compare::lo)},
    {F::cmp, "ls", as(Compare::ls)},
    {F::cmp, "hi", as(Compare::hi)},
    {F::cmp, "hs", as(Compare::hs)},
    {F::cmp, "equ", as(Compare::equ)},
    {F::cmp, "neu", as(Compare::neu)},
    {F::cmp, "ltu", as(Compare::ltu)},
    {F::cmp, "leu", as(Compare::leu)},
    {F::cmp, "gtu", as(Compare::gtu)},
    {F::cmp, "geu", as(Compare::geu)},
    {F::cmp, "num", as(Compare::num)},
    {F::cmp, "nan", as(Compare::nan)},
    {F::boolean, "and", as(BoolOp::and_op)},
    {F::boolean, "or", as(BoolOp::or_op)},
    {F::boolean, "xor", as(BoolOp::xor_op)},
    {F::boolean, "popc", as(BoolOp::popc)},
    {F::half, "lo", as(HalfSelect::lo)},
    {F::half, "hi", as(HalfSelect::hi)},
    {F::half, "wide", as(HalfSelect::wide)},
    {F::order, "weak", as(Order::weak)},
    {F::order, "relaxed", as(Order::relaxed)},
    {F::order, "acquire", as(Order::acquire)},
    {F::order, "release", as(Order::release)},
    {F::order, "acq_rel", as(Order::acq_rel)},
    {F::order, "sc", as(Order::sc)},
    {F::order, "volatile", as(Order::volatile_op)},
    {F::scope, "cta", as(Scope::cta)},
    {F::scope, "cluster", as(Scope::cluster)},
    {F::scope, "gpu", as(Scope::gpu)},
    {F::scope, "sys", as(Scope::sys)},
    {F::scope, "gl", as(Scope::gpu)},  // membar.gl
    {F::cache, "ca", as(CacheOp::ca)},
    {F::cache, "cg", as(CacheOp::cg)},
    {F::cache, "cs", as(CacheOp::cs)},
    {F::cache, "cv", as(CacheOp::cv)},
    {F::cache, "lu", as(CacheOp::lu)},
    {F::cache, "wb", as(CacheOp::wb)},
    {F::cache, "wt", as(CacheOp::wt)},
    {F::l1, "L1::evict_normal", as(EvictPriority::evict_normal)},
    {F::l1, "L1::evict_unchanged", as(EvictPriority::evict_unchanged)},
    {F::l1, "L1::evict_first", as(EvictPriority::evict_first)},
    {F::l1, "L1::evict_last", as(EvictPriority::evict_last)},
    {F::l1, "L1::no_allocate", as(EvictPriority::no_allocate)},
    {F::l2, "L2::evict_normal", as(EvictPriority::evict_normal)},
    {F::l2, "L2::evict_unchanged", as(EvictPriority::evict_unchanged)},
    {F::l2, "L2::evict_first", as(EvictPriority::evict_first)},
    {F::l2, "L2::evict_last", as(EvictPriority::evict_last)},
    {F::op, "add", as(AtomicOp::add)},
    {F::op, "min", as(AtomicOp::min)},
    {F::op, "max", as(AtomicOp::max)},
    {F::op, "inc", as(AtomicOp::inc)},
    {F::op, "dec", as(AtomicOp::dec)},
    {F::op, "and", as(AtomicOp::and_op)},
    {F::op, "or", as(AtomicOp::or_op)},
    {F::op, "xor", as(AtomicOp::xor_op)},
    {F::op, "exch", as(AtomicOp::exch)},
    {F::op, "cas", as(AtomicOp::cas)},
    {F::shfl, "up", as(ShuffleMode::up)},
    {F::shfl, "down", as(ShuffleMode::down)},
    {F::shfl, "bfly", as(ShuffleMode::bfly)},
    {F::shfl, "idx", as(ShuffleMode::idx)},
    {F::vote, "all", as(VoteMode::all)},
    {F::vote, "any", as(VoteMode::any)},
    {F::vote, "uni", as(VoteMode::uni)},
    {F::vote, "ballot", as(VoteMode::ballot)},
    {F::match, "any", as(MatchMode::any)},
    {F::match, "all", as(MatchMode::all)},
    {F::prmt, "f4e", as(PrmtMode::f4e)},
    {F::prmt, "b4e", as(PrmtMode::b4e)},
    {F::prmt, "rc8", as(PrmtMode::rc8)},
    {F::prmt, "ecl", as(PrmtMode::ecl)},
    {F::prmt, "ecr", as(PrmtMode::ecr)},
    {F::prmt, "rc16", as(PrmtMode::rc16)},
    {F::shift, "wrap", as(ShiftMode::wrap)},
    {F::shift, "clamp", as(ShiftMode::clamp)},
    {F::bar, "sync", as(BarrierAction::sync)},
    {F::bar, "arrive", as(BarrierAction::arrive)},
    {F::bar, "wait", as(BarrierAction::wait)},
    {F::bar, "red", as(BarrierAction::red_popc)},  // with .and / .or: red_and, red_or
    {F::completion, "mbarrier::complete_tx::bytes", as(Completion::mbarrier)},
    {F::completion, "bulk_group", as(Completion::bulk_group)},
    {F::vec, "v2", 2},
    {F::vec, "v4", 4},
    {F::vec, "v8", 8},
    {F::testp, "finite", as(FloatClass::finite)},
    {F::testp, "infinite", as(FloatClass::infinite)},
    {F::testp, "number", as(FloatClass::number)},
    {F::testp, "notanumber", as(FloatClass::notanumber)},
    {F::testp, "normal", as(FloatClass::normal)},
    {F::testp, "subnormal", as(FloatClass::subnormal)},
    {F::policy, "fractional", as(PolicyForm::fractional)},
    {F::policy, "range", as(PolicyForm::range)},
    {F::policy, "cvt", as(PolicyForm::cvt)},
    {F::level, "L1", as(CacheLevel::l1)},
    {F::level, "L2", as(CacheLevel::l2)},
    {F::level, "L2::evict_last", as(CacheLevel::l2), as(EvictPriority::evict_last)},
    {F::level, "L2::evict_normal", as(CacheLevel::l2), as(EvictPriority::evict_normal)},
    {F::level, "tensormap", as(CacheLevel::none)},
    {F::proxy, "alias", as(Proxy::alias)},
    {F::proxy, "async", as(Proxy::async)},
    {F::proxy, "async::generic", as(Proxy::async)},
    {F::proxy, "tensormap::generic", as(Proxy::tensormap)},
};

const WordValue* find_word(ModifierField field, std::string_view word) {
  const ModifierField key = field == F::sspace ? F::space : field == F::l2b ? F::l2 : field;
  for (const WordValue& row : kWords) {
    if (row.field == key && row.word == word) return &row;
  }
  return nullptr;
}

/// Sets the bit of a flag word. Words without a bit (`.to` of other meaning, tile modes) are `word` groups
/// instead.
bool set_flag(Modifiers& m, std::string_view word) {
  if (word == "ftz") return m.ftz = true;
  if (word == "sat") return m.sat = true;
  if (word == "satfinite") return m.satfinite = true;
  if (word == "relu") return m.relu = true;
  if (word == "approx") return m.approx = true;
  if (word == "full") return m.full = true;
  if (word == "uni") return m.uniform = true;
  if (word == "aligned") return m.aligned = true;
  if (word == "sync") return m.sync = true;
  if (word == "mmio") return m.mmio = true;
  if (word == "nc") return m.non_coherent = true;
  if (word == "L2::cache_hint") return m.cache_hint = true;
  if (word == "cc") return m.carry_out = true;
  if (word == "noftz") return m.noftz = true;
  if (word == "to") return m.to_space = true;
  if (word == "l") return m.left = true;
  if (word == "r") return true;
  if (word == "shiftamt") return m.shift_amount = true;
  if (word == "parity") return m.parity = true;
  if (word == "expect_tx") return m.expect_tx = true;
  if (word == "noComplete") return m.no_complete = true;
  if (word == "noinc") return m.no_increment = true;
  if (word == "read") return m.read = true;
  if (word == "multicast::cluster") return m.multicast = true;
  if (word == "xorsign" || word == "abs") return m.xor_sign = true;
  if (word == "NaN") return m.nan = true;
  if (word == "oob") return m.oob = true;
  return word == "ignore_oob" || word == "cp_mask";
}

}  // namespace

ModifierField modifier_field(std::string_view name) {
  for (const FieldName& row : kFields) {
    if (row.name == name) return row.field;
  }
  return ModifierField::count;
}

Type type_from_word(std::string_view word) {
  struct Row {
    std::string_view word;
    Type type;
  };
  static constexpr Row kTypes[] = {
      {"b32", Type::b32},       {"b64", Type::b64},       {"f32", Type::f32},   {"u32", Type::u32},
      {"s32", Type::s32},       {"u64", Type::u64},       {"s64", Type::s64},   {"b16", Type::b16},
      {"u16", Type::u16},       {"s16", Type::s16},       {"b8", Type::b8},     {"u8", Type::u8},
      {"s8", Type::s8},         {"f64", Type::f64},       {"f16", Type::f16},   {"f16x2", Type::f16x2},
      {"bf16", Type::bf16},     {"bf16x2", Type::bf16x2}, {"pred", Type::pred}, {"b128", Type::b128},
      {"tf32", Type::tf32},     {"f32x2", Type::f32x2},   {"e4m3", Type::e4m3}, {"e5m2", Type::e5m2},
      {"e4m3x2", Type::e4m3x2}, {"e5m2x2", Type::e5m2x2}, {"u8x4", Type::u8x4}, {"s8x4", Type::s8x4},
      {"u16x2", Type::u16x2},   {"s16x2", Type::s16x2}};
  for (const Row& row : kTypes) {
    if (row.word == word) return row.type;
  }
  return Type::none;
}

bool set_modifier(Modifiers& m, ModifierField field, std::string_view word) {
  if (field == F::word) return true;
  if (field == F::flag) return set_flag(m, word);
  if (field == F::type || field == F::stype) {
    const Type type = type_from_word(word);
    (field == F::type ? m.type : m.source_type) = type;
    return type != Type::none;
  }
  if (field == F::prefetch) {
    const int bytes = word == "L2::64B" ? 64 : word == "L2::128B" ? 128 : word == "L2::256B" ? 256 : 0;
    if (bytes == 0) return false;
    m.l2_prefetch_bytes = static_cast<uint16_t>(bytes);
    return true;
  }
  const WordValue* row = find_word(field, word);
  if (row == nullptr) return false;
  switch (field) {
    case F::space:
      m.space = static_cast<Space>(row->value);
      m.sub_space = static_cast<SubSpace>(row->second);
      break;
    case F::sspace:
      m.source_space = static_cast<Space>(row->value);
      m.source_sub_space = static_cast<SubSpace>(row->second);
      break;
    case F::rnd:
      m.rounding = static_cast<Rounding>(row->value);
      break;
    case F::cmp:
      m.compare = static_cast<Compare>(row->value);
      break;
    case F::boolean:
      m.bool_op = static_cast<BoolOp>(row->value);
      if (m.barrier == BarrierAction::red_popc && m.bool_op == BoolOp::and_op)
        m.barrier = BarrierAction::red_and;
      if (m.barrier == BarrierAction::red_popc && m.bool_op == BoolOp::or_op)
        m.barrier = BarrierAction::red_or;
      break;
    case F::half:
      m.half = static_cast<HalfSelect>(row->value);
      break;
    case F::order:
      m.order = static_cast<Order>(row->value);
      break;
    case F::scope:
      m.scope = static_cast<Scope>(row->value);
      break;
    case F::cache:
      m.cache = static_cast<CacheOp>(row->value);
      break;
    case F::l1:
      m.l1 = static_cast<EvictPriority>(row->value);
      break;
    case F::l2:
      m.l2 = static_cast<EvictPriority>(row->value);
      break;
    case F::l2b:
      m.l2_secondary = static_cast<EvictPriority>(row->value);
      break;
    case F::op:
      m.atomic = static_cast<AtomicOp>(row->value);
      break;
    case F::shfl:
      m.shuffle = static_cast<ShuffleMode>(row->value);
      break;
    case F::vote:
      m.vote = static_cast<VoteMode>(row->value);
      break;
    case F::match:
      m.match = static_cast<MatchMode>(row->value);
      break;
    case F::prmt:
      m.prmt = static_cast<PrmtMode>(row->value);
      break;
    case F::shift:
      m.shift = static_cast<ShiftMode>(row->value);
      break;
    case F::bar:
      m.barrier = static_cast<BarrierAction>(row->value);
      break;
    case F::completion:
      m.completion = static_cast<Completion>(row->value);
      break;
    case F::vec:
      m.vector = row->value;
      break;
    case F::testp:
      m.float_class = static_cast<FloatClass>(row->value);
      break;
    case F::policy:
      m.policy = static_cast<PolicyForm>(row->value);
      break;
    case F::level:
      m.level = static_cast<CacheLevel>(row->value);
      m.l2 = static_cast<EvictPriority>(row->second);
      break;
    case F::proxy:
      m.proxy = static_cast<Proxy>(row->value);
      break;
    default:
      return false;
  }
  return true;
}

}  // namespace ptxwire::ptx
