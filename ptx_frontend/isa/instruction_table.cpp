#include "ptx_frontend/isa/instruction_table.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "support/nearest.hpp"

namespace ptxwire::ptx {
namespace {

using NamedText = std::pair<std::string_view, std::string_view>;

// Sets of words that many rows share.
constexpr NamedText kWordSets[] = {
    {"INT", "u16|u32|u64|s16|s32|s64"},
    {"INT8", "u8|u16|u32|u64|s8|s16|s32|s64"},
    {"UINT", "u16|u32|u64"},
    {"SINT", "s16|s32|s64"},
    {"BITS", "b16|b32|b64"},
    {"DATA", "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"FCMP", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"BOOL", "and|or|xor"},
    {"SCOPE", "cta|cluster@78/90|gpu|sys"},
    {"LDSPACE",
     "const|global|local|param|param::entry@83|param::func@83|shared|shared::cta@78/30|shared::cluster@78/"
     "90"},
    {"STSPACE", "global|local|param|param::func@83|shared|shared::cta@78/30|shared::cluster@78/90"},
    {"GSPACE", "global|shared|shared::cta@78/30|shared::cluster@78/90"},
    {"L1EVICT", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"},
    {"L2EVICT", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"L2PREFETCH", "L2::64B|L2::128B|L2::256B"},
    {"WGMMA8",
     "m64n8k32|m64n16k32|m64n24k32|m64n32k32|m64n48k32|m64n64k32|m64n80k32|m64n96k32|m64n112k32|m64n128k32|"
     "m64n144k32|m64n160k32|m64n176k32|m64n192k32|m64n208k32|m64n224k32|m64n240k32|m64n256k32"},
    {"WGMMA1",
     "m64n8k256|m64n16k256|m64n24k256|m64n32k256|m64n48k256|m64n64k256|m64n80k256|m64n96k256|m64n112k256|"
     "m64n128k256|m64n144k256|m64n160k256|m64n176k256|m64n192k256|m64n208k256|m64n224k256|m64n240k256|"
     "m64n256k256"},
    {"ACMP", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"},
};

// Whole groups that many rows share.
constexpr NamedText kGroupSets[] = {
    {"ATOMIC",
     "order?:relaxed@60/70|acquire@60/70|release@60/70|acq_rel@60/70 "
     "scope?:cta@60/70|cluster@78/90|gpu@60/70|sys@50/60 "
     "space?:GSPACE flag?:L2::cache_hint@74/80"},
    {"REDUCTION",
     "order?:relaxed@60/70|release@60/70 scope?:cta@60/70|cluster@78/90|gpu@60/70|sys@50/60 space?:GSPACE "
     "flag?:L2::cache_hint@74/80"},
    {"TEXGEOMETRY", "word:1d|2d|3d|a1d@20|a2d@20|cube@20/20|acube@30/20|2dms@32/30|a2dms@32/30"},
    {"TEXLEVEL", "word:1d|2d|3d|a1d|a2d|cube|acube@30/20"},
    {"TEXDATA", "vec:v4|v2@42 type:u32|s32|f32|f16@42/53|f16x2@42/53 stype:s32|f32"},
    {"GATHER", "word:r|g|b|a word:2d|a2d|cube|acube vec:v4 type:u32|s32|f32 stype:f32"},
    {"SURFACE", "word:1d|2d|3d|a1d@30|a2d@30"},
    {"OUTSIDE", "word:trap|clamp|zero"},
    {"VIDEO3", "type:u32|s32 stype:u32|s32 word:u32|s32"},
    {"VIDEO2", "type:u32|s32 stype:u32|s32 cmp:ACMP"},
    {"VIDEOSHIFT", "type:u32|s32 stype:u32|s32 word:u32 shift:clamp|wrap"},
    {"WMMA", "flag:sync flag:aligned@63 word:row|col"},
    {"WMMAROW", "flag:sync flag:aligned word:row"},
    {"WMMACOL", "flag:sync flag:aligned word:col"},
    {"WMMAS", "flag:sync flag:aligned@63 word:row|col word:row|col"},
    {"WMSPACE", "space?:global|shared|shared::cta@78"},
    {"CTAGROUP", "word:cta_group::1|cta_group::2"},
    {"TMEMCOUNT", "word:x1|x2|x4|x8|x16|x32|x64|x128"},
    {"TMEMSHAPE", "word:16x64b|16x128b|16x256b|32x32b TMEMCOUNT"},
    {"TCKIND",
     "word:kind::f16|kind::tf32|kind::f8f6f4|kind::i8 word?:ashift "
     "word?:collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard|collector::a"},
    {"TCSCALED",
     "word:kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4 word:block_scale "
     "word?:scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32 "
     "word?:collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard"},
    {"TCWS",
     "word:kind::f16|kind::tf32|kind::f8f6f4|kind::i8 "
     "word?:collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|"
     "collector::b1::fill|collector::b1::use|collector::b1::lastuse|collector::b1::discard|"
     "collector::b2::fill|collector::b2::use|collector::b2::lastuse|collector::b2::discard|"
     "collector::b3::fill|collector::b3::use|collector::b3::lastuse|collector::b3::discard"},
    {"MBSPACE", "space?:shared|shared::cta@78"},
    {"MBORDER", "order?:release@80/90|relaxed@80/90 scope?:cta@80/90|cluster@80/90"},
};

template <size_t n>
std::string_view find_set(const NamedText (&sets)[n], std::string_view name) {
  for (const auto& [key, text] : sets) {
    if (key == name) return text;
  }
  return {};
}

/// Calls `use` with each piece of `text` between separators.
template <typename Use>
void split(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end != 0) use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Requirement parse_requirement(std::string_view text) {
  Requirement needs;
  const char* end = text.data() + text.size();
  const char* at = std::from_chars(text.data(), end, needs.ptx).ptr;
  if (at != end && *at == '/') at = std::from_chars(at + 1, end, needs.sm).ptr;
  needs.arch_specific = at != end && *at == 'a';
  return needs;
}

Requirement strictest(const Requirement& a, const Requirement& b) {
  return {std::max(a.ptx, b.ptx), std::max(a.sm, b.sm), a.arch_specific || b.arch_specific};
}

/// Words between '|'; a set stands for its words, with the requirement of the set on top of their own.
void parse_words(std::string_view text, const Requirement& outer, std::vector<ModifierWord>& words) {
  split(text, '|', [&](std::string_view word) {
    const size_t at = word.find('@');
    const Requirement needs =
        at == std::string_view::npos ? outer : strictest(outer, parse_requirement(word.substr(at + 1)));
    word = word.substr(0, at);
    if (const std::string_view set = find_set(kWordSets, word); !set.empty())
      return parse_words(set, needs, words);
    words.push_back({word, needs});
  });
}

void parse_groups(std::string_view text, CompiledForm& form) {
  split(text, ' ', [&](std::string_view group_text) {
    if (const std::string_view set = find_set(kGroupSets, group_text); !set.empty())
      return parse_groups(set, form);
    if (const size_t equals = group_text.find('='); equals != std::string_view::npos) {
      form.defaults.emplace_back(modifier_field(group_text.substr(0, equals)), group_text.substr(equals + 1));
      return;
    }
    ModifierGroup group;
    const size_t colon = group_text.find(':');
    std::string_view name = group_text.substr(0, colon);
    group.leading = name.starts_with('^');
    if (group.leading) name.remove_prefix(1);
    group.optional = name.ends_with('?');
    if (group.optional) name.remove_suffix(1);
    group.field = modifier_field(name);
    parse_words(group_text.substr(colon + 1), {}, group.words);
    form.groups.push_back(std::move(group));
  });
}

/// Reads the suffixes of an operand from its end; what is left is its type or class.
std::string_view parse_suffixes(std::string_view text, OperandSpec& spec) {
  if (const size_t bar = text.find_first_of("|&"); bar != std::string_view::npos) {
    spec.second_predicate = true;
    spec.needs_second = text[bar] == '&';
    text = text.substr(0, bar);
  }
  if (const size_t hash = text.find('#'); hash != std::string_view::npos) {
    spec.constant = true;
    std::string_view range = text.substr(hash + 1);
    spec.optional = range.ends_with('?');
    const size_t dots = range.find("..");
    if (dots != std::string_view::npos) {
      spec.ranged = true;
      std::from_chars(range.data(), range.data() + dots, spec.low);
      const char* end = range.data() + range.size();
      const char* at = std::from_chars(range.data() + dots + 2, end, spec.high).ptr;
      if (at != end && *at == '/') {
        spec.power_of_two = at + 1 != end && at[1] == '^';
        if (!spec.power_of_two) std::from_chars(at + 1, end, spec.step);
      }
    }
    text = text.substr(0, hash);
  }
  while (!text.empty()) {
    switch (text.back()) {
      case '~':
        spec.wider = true;
        break;
      case '1':
        spec.may_brace = true;
        break;
      case '?':
        spec.optional = true;
        break;
      case '$':
        spec.register_only = true;
        break;
      case '_':
        spec.may_sink = true;
        break;
      case '!':
        spec.negatable = true;
        break;
      case '%':
        spec.special = true;
        break;
      default:
        return text;
    }
    text.remove_suffix(1);
  }
  return text;
}

OperandSpec parse_operand_spec(std::string_view text) {
  OperandSpec spec;
  if (text.starts_with('=')) {
    spec.destination = true;
    text.remove_prefix(1);
  }
  text = parse_suffixes(text, spec);
  struct Row {
    std::string_view word;
    OperandClass kind;
  };
  static constexpr Row kClasses[] = {{"[A]", OperandClass::address},
                                     {"[B]", OperandClass::source_address},
                                     {"[shared]", OperandClass::shared_address},
                                     {"label", OperandClass::label},
                                     {"targets", OperandClass::targets},
                                     {"call", OperandClass::call},
                                     {"policy", OperandClass::policy},
                                     {"ctamask", OperandClass::cta_mask},
                                     {"sign", OperandClass::sign},
                                     {"srcsize", OperandClass::source_size},
                                     {"bulksize", OperandClass::bulk_size},
                                     {"parity", OperandClass::parity},
                                     {"tensor", OperandClass::tensor},
                                     {"vector", OperandClass::vector},
                                     {"matrix", OperandClass::matrix},
                                     {"descriptor", OperandClass::descriptor},
                                     {"parts", OperandClass::parts},
                                     {"barrier", OperandClass::barrier},
                                     {"threads", OperandClass::threads},
                                     {"variable", OperandClass::variable},
                                     {"sink", OperandClass::sink},
                                     {"texture", OperandClass::texture},
                                     {"surface", OperandClass::surface},
                                     {"handle", OperandClass::handle},
                                     {"part", OperandClass::part},
                                     {"negpart", OperandClass::part},
                                     {"negvalue", OperandClass::part},
                                     {"lanes2", OperandClass::lanes},
                                     {"lanes4", OperandClass::lanes},
                                     {"mask2", OperandClass::mask},
                                     {"mask4", OperandClass::mask},
                                     {"offsets", OperandClass::values},
                                     {"any", OperandClass::values},
                                     {"gradient", OperandClass::gradient},
                                     {"[tmem]", OperandClass::tensor_memory},
                                     {"tcmatrix", OperandClass::tensor_matrix}};
  for (const Row& row : kClasses) {
    if (row.word == text) spec.kind = row.kind;
  }
  spec.signed_part = text.starts_with("neg");
  if (spec.kind == OperandClass::lanes || spec.kind == OperandClass::mask)
    spec.lane_count = text.back() == '2' ? 2 : 4;
  if (spec.kind == OperandClass::variable || spec.kind == OperandClass::parts)
    spec.type_source = TypeSource::type;
  if (spec.kind != OperandClass::value) return spec;
  if (text == "V") {
    spec.vector = true;
    text = "T";
  } else if (text == "value") {
    spec.symbol = true;
    text = "T";
  }
  if (text == "T") {
    spec.type_source = TypeSource::type;
  } else if (text == "S") {
    spec.type_source = TypeSource::source_type;
  } else if (text == "W") {
    spec.type_source = TypeSource::wide;
  } else {
    spec.type_source = TypeSource::fixed;
    spec.fixed = type_from_word(text);
  }
  return spec;
}

CompiledForm compile(const InstructionForm& form) {
  CompiledForm compiled;
  compiled.form = &form;
  parse_groups(form.modifiers, compiled);
  split(form.operands, ',', [&](std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    compiled.operands.push_back(parse_operand_spec(text));
  });
  return compiled;
}

}  // namespace

std::span<const std::span<const InstructionForm>> instruction_categories() {
  static const std::span<const InstructionForm> categories[] = {
      integer_forms(),  floating_forms(), comparison_forms(), logic_forms(),       conversion_forms(),
      movement_forms(), memory_forms(),   atomic_forms(),     async_copy_forms(),  barrier_forms(),
      warp_forms(),     control_forms(),  matrix_forms(),     warp_matrix_forms(), texture_forms(),
      video_forms(),    later_forms()};
  return categories;
}

InstructionTable::InstructionTable() {
  for (const auto& category : instruction_categories()) {
    for (const InstructionForm& form : category) {
      auto& list = forms_[form.head];
      if (list.empty()) heads_.push_back(form.head);
      list.push_back(compile(form));
    }
  }
}

const InstructionTable& InstructionTable::get() {
  static const InstructionTable table;
  return table;
}

std::span<const CompiledForm> InstructionTable::forms(std::string_view head) const {
  const auto found = forms_.find(head);
  if (found == forms_.end()) return {};
  return found->second;
}

std::span<const CompiledForm> InstructionTable::find(std::string_view spelling,
                                                     std::string_view& head) const {
  // No head has more words than this; spellings may have any number.
  constexpr unsigned kMostHeadWords = 6;
  size_t end = 0;
  for (unsigned word = 0; word < kMostHeadWords && end < spelling.size(); ++word)
    end = std::min(spelling.find('.', end + 1), spelling.size());
  head = spelling.substr(0, end);
  while (!head.empty()) {
    const auto found = forms(head);
    if (!found.empty()) return found;
    const size_t dot = head.rfind('.');
    head = head.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  head = spelling.substr(0, spelling.find('.'));
  return {};
}

std::string InstructionTable::nearest_head(std::string_view head) const { return nearest(head, heads_); }

}  // namespace ptxwire::ptx
