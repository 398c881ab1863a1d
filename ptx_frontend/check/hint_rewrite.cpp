#include "ptx_frontend/check/hint_rewrite.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "ptx_frontend/isa/modifier_field.hpp"

namespace ptxwire::ptx {
namespace {

constexpr std::array kHintFields = {ModifierField::cache, ModifierField::l1, ModifierField::l2,
                                    ModifierField::prefetch};

bool is_hint(std::string_view word) {
  return std::any_of(kHintFields.begin(), kHintFields.end(), [&](ModifierField field) {
    Modifiers ignored;
    return set_modifier(ignored, field, word);
  });
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Error refuse(std::string message, std::string hint) {
  return Error{.message = std::move(message), .path = {}, .hint = std::move(hint)};
}

bool may_change(const Instruction& instruction) {
  const Modifiers& modifiers = instruction.modifiers;
  return (instruction.opcode == Opcode::ld || instruction.opcode == Opcode::st) &&
         modifiers.space == Space::global && !modifiers.mmio &&
         (modifiers.order == Order::none || modifiers.order == Order::weak);
}

const HintRule* rule_of(const std::vector<HintRule>& rules, const std::vector<std::string>& words) {
  const auto fits = [&](const HintRule& rule) {
    return std::all_of(rule.words.begin(), rule.words.end(), [&](const std::string& word) {
      return std::find(words.begin(), words.end(), word) != words.end();
    });
  };
  const auto found = std::find_if(rules.begin(), rules.end(), fits);
  return found == rules.end() ? nullptr : &*found;
}

/// Opcode, space and .nc stay in front, where ptxas prints hints behind them.
std::string with_hints(const std::vector<std::string>& words, const std::vector<std::string>& hints) {
  std::string before, after;
  for (const std::string& word : words) {
    if (is_hint(word)) continue;
    const bool is_front = word == "ld" || word == "st" || word == "weak" || word == "global" || word == "nc";
    std::string& part = is_front ? before : after;
    part += (part.empty() && is_front ? "" : ".") + word;
  }
  for (const std::string& hint : hints) before += "." + hint;
  return before + after;
}

}  // namespace

Expected<std::vector<HintRule>> parse_hint_rules(std::string_view text) {
  std::vector<HintRule> rules;
  for (const std::string& written : split(text, ";")) {
    if (written.find_first_not_of(' ') == std::string::npos) continue;
    // The first ':' that is not half of '::'.
    size_t colon = written.find(':');
    while (colon != std::string::npos && written.compare(colon, 2, "::") == 0)
      colon = written.find(':', colon + 2);
    if (colon == std::string::npos)
      return refuse("'" + written + "' has no ':'", "expected 'ld.v4: L1::no_allocate L2::256B'");
    HintRule rule{.words = split(std::string_view(written).substr(0, colon), " ."),
                  .hints = split(std::string_view(written).substr(colon + 1), " ,")};
    if (rule.words.empty() || (rule.words[0] != "ld" && rule.words[0] != "st"))
      return refuse("'" + written + "' does not begin with ld or st", "expected 'ld.v4: L1::no_allocate'");
    for (const std::string& hint : rule.hints)
      if (!is_hint(hint))
        return refuse("'" + hint + "' is no cache hint",
                      "expected ca, cg, cs, L1::no_allocate, L1::evict_first, L2::64B, L2::256B or the like");
    rules.push_back(std::move(rule));
  }
  return rules;
}

RewrittenText rewrite_hints(const std::string& text, const std::string& path,
                            const std::vector<HintRule>& rules) {
  Diagnostics diagnostics;
  Module module = parse(std::make_shared<const std::string>(text), path, diagnostics);
  if (!diagnostics.has_errors()) check(module, diagnostics);
  RewrittenText result;
  if (diagnostics.has_errors()) {  // reported when the text is loaded
    result.text = text;
    return result;
  }
  std::vector<const Instruction*> changed;
  for (const Function& function : module.functions)
    for (const Instruction& instruction : function.body)
      if (may_change(instruction)) changed.push_back(&instruction);
  std::sort(changed.begin(), changed.end(), [](const Instruction* a, const Instruction* b) {
    return a->head_range.begin < b->head_range.begin;
  });
  size_t copied = 0;
  for (const Instruction* instruction : changed) {
    const std::vector<std::string> words = split(instruction->text, ".");
    const HintRule* rule = rule_of(rules, words);
    if (rule == nullptr) continue;
    result.text.append(text, copied, instruction->head_range.begin - copied);
    result.text += with_hints(words, rule->hints);
    copied = instruction->head_range.end;
    ++result.changed;
  }
  result.text.append(text, copied);
  return result;
}

}  // namespace ptxwire::ptx
