#include "ptx_frontend/check/spelling.hpp"

#include <algorithm>

#include "ptx_frontend/check/hint.hpp"
#include "ptx_frontend/isa/modifier_rules.hpp"

namespace ptxwire::ptx {
namespace {

struct Word {
  std::string_view text;
  uint32_t begin = 0;  ///< within the spelling
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<Word> split_words(std::string_view spelling, size_t head_length) {
  std::vector<Word> words;
  size_t at = head_length;
  while (at < spelling.size()) {
    const size_t begin = at + 1;
    at = std::min(spelling.find('.', begin), spelling.size());
    words.push_back({trim(spelling.substr(begin, at - begin)), static_cast<uint32_t>(begin)});
  }
  return words;
}

/// The outcome of fitting the words of a spelling into the groups of a row.
struct Fit {
  const CompiledForm* form = nullptr;
  std::vector<bool> filled;  ///< groups that have their word
  bool complete = false;
  size_t words_taken = 0;                  ///< words before the first that fits nowhere
  const ModifierGroup* missing = nullptr;  ///< a required group that no word filled
  const ModifierRule* rule = nullptr;      ///< a rule that the words break
  bool too_wide = false;                   ///< a vector of more than 128 bits
  Requirement needs;
  std::string_view needs_word;  ///< the word that raised `needs`; empty: the row itself
  Modifiers modifiers;
};

/// Which of two fits that take equally many words comes closer.
int rank(const Fit& fit) { return fit.rule != nullptr || fit.too_wide ? 2 : fit.missing != nullptr ? 1 : 0; }

bool exceeds(const Requirement& a, const Requirement& b) {
  return a.ptx > b.ptx || a.sm > b.sm || (a.arch_specific && !b.arch_specific);
}

Requirement strictest(const Requirement& a, const Requirement& b) {
  return {std::max(a.ptx, b.ptx), std::max(a.sm, b.sm), a.arch_specific || b.arch_specific};
}

bool any_in(std::string_view list, const std::vector<Word>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const Word& word) { return in_word_list(list, word.text); });
}

const ModifierRule* broken_rule(const CompiledForm& form, const std::vector<Word>& words) {
  for (const ModifierRule& rule : modifier_rules()) {
    if (rule.operands != 0 && rule.operands != form.operands.size()) continue;
    if (!in_word_list(rule.heads, form.form->head) || !any_in(rule.words, words)) continue;
    if (any_in(rule.others, words) != (rule.relation == ModifierRelation::requires_one_of)) return &rule;
  }
  return nullptr;
}

Fit fit_words(const CompiledForm& form, const std::vector<Word>& words) {
  Fit fit;
  fit.needs = form.form->needs;
  fit.modifiers.carry_in =
      form.form->head.ends_with('c') &&
      (form.form->head == "addc" || form.form->head == "subc" || form.form->head == "madc");
  fit.form = &form;
  fit.filled.assign(form.groups.size(), false);
  std::vector<bool>& filled = fit.filled;
  const auto lacks = [&](ModifierField field) {
    return std::none_of(form.groups.begin(), form.groups.end(),
                        [&](const ModifierGroup& group) { return group.field == field; });
  };
  bool type_seen = lacks(ModifierField::type), space_seen = lacks(ModifierField::space);
  std::vector<std::pair<ModifierField, std::string_view>> settings;
  for (const Word& word : words) {
    bool taken = false;
    for (size_t g = 0; g < form.groups.size() && !taken; ++g) {
      // Exceptions to "a set": of two types, or two spaces, the first is the destination's; and ^ words come
      // first.
      const ModifierField field = form.groups[g].field;
      const bool later_type = field == ModifierField::stype ||
                              (field == ModifierField::word && type_from_word(word.text) != Type::none);
      const bool too_early = (later_type && !type_seen) || (field == ModifierField::sspace && !space_seen);
      const bool too_late = form.groups[g].leading && fit.words_taken != 0;
      if (filled[g] || too_early || too_late) continue;
      for (const ModifierWord& candidate : form.groups[g].words) {
        if (!candidate.matches(word.text)) continue;
        filled[g] = taken = true;
        type_seen |= field == ModifierField::type;
        space_seen |= field == ModifierField::space;
        settings.emplace_back(field, word.text);
        if (exceeds(candidate.needs, fit.needs)) fit.needs_word = word.text;
        fit.needs = strictest(fit.needs, candidate.needs);
        break;
      }
    }
    // ptxas takes these words any number of times.
    const bool repeatable = word.text == "sync" || word.text == "uni" || word.text == "sat";
    const auto written = [&](const auto& setting) { return setting.second == word.text; };
    taken = taken || (repeatable && std::any_of(settings.begin(), settings.end(), written));
    if (!taken) return fit;
    ++fit.words_taken;
  }
  for (size_t g = 0; g < form.groups.size(); ++g) {
    if (!filled[g] && !form.groups[g].optional) {
      fit.missing = &form.groups[g];
      return fit;
    }
  }
  // In field order: a combined meaning (barrier.red with .and) then finds its first half already set.
  std::stable_sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) {
    return (a.first == ModifierField::bar) > (b.first == ModifierField::bar);
  });
  for (const auto& [field, word] : form.defaults) set_modifier(fit.modifiers, field, word);
  for (const auto& [field, word] : settings) set_modifier(fit.modifiers, field, word);
  if (const ModifierRule* rule = broken_rule(form, words); rule != nullptr) {
    fit.rule = rule;
    return fit;
  }
  // Only sm_100 has 256-bit accesses.
  fit.too_wide = fit.modifiers.vector * type_bytes(fit.modifiers.type) > 16 && fit.needs.sm < 100;
  fit.complete = !fit.too_wide;
  return fit;
}

std::string list_words(const ModifierGroup& group) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < group.words.size() && i < kMost; ++i) {
    if (i != 0) text += i + 1 == group.words.size() ? " or " : ", ";
    text += "." + std::string(group.words[i].word);
  }
  if (group.words.size() > kMost) text += ", ...";
  return text;
}

/// ", expected .a, .b or .c": what the form still takes.
std::string alternatives(const Fit& fit) {
  ModifierGroup open;
  for (size_t g = 0; fit.form != nullptr && g < fit.form->groups.size(); ++g) {
    const ModifierGroup& group = fit.form->groups[g];
    if (fit.filled[g]) continue;
    open.words.insert(open.words.end(), group.words.begin(), group.words.end());
    if (!group.optional) {  // it must be among them: nothing else is worth naming
      open.words = group.words;
      break;
    }
  }
  return open.words.empty() ? std::string() : ", expected " + list_words(open);
}

Candidate make_candidate(const CompiledForm& form, const Modifiers& modifiers) {
  Candidate candidate{&form, modifiers, {}};
  for (const OperandSpec& spec : form.operands) {
    if (spec.kind == OperandClass::policy && !modifiers.cache_hint) continue;
    if (spec.kind == OperandClass::cta_mask && !modifiers.multicast) continue;
    candidate.operands.push_back(&spec);
  }
  return candidate;
}

SpellingError explain_rule(std::string_view spelling, const ModifierRule& rule,
                           const std::vector<Word>& words) {
  const auto first_in = [&](std::string_view list) {
    return *std::find_if(words.begin(), words.end(),
                         [&](const Word& word) { return in_word_list(list, word.text); });
  };
  const Word word = first_in(rule.words);
  SpellingError error;
  error.begin = word.begin - 1;
  error.end = word.begin + static_cast<uint32_t>(word.text.size());
  error.message = "modifier '." + std::string(word.text) + "' of '" + std::string(spelling) + "' ";
  if (rule.relation == ModifierRelation::excludes) {
    error.id = "conflicting-modifier";
    error.message += "cannot be combined with '." + std::string(first_in(rule.others).text) + "'";
  } else {
    error.id = "missing-modifier";
    error.message += "needs one of: " + std::string(rule.others);
  }
  return error;
}

/// Explains the first word that no row takes together with the words before it, or the group that is missing.
SpellingError explain(std::string_view spelling, std::string_view head, std::span<const CompiledForm> forms,
                      const std::vector<Word>& words, const Fit& best) {
  SpellingError error;
  if (best.missing != nullptr) {
    error = {"missing-modifier",
             0,
             static_cast<uint32_t>(spelling.size()),
             "'" + std::string(spelling) + "' is incomplete, expected " + list_words(*best.missing),
             {}};
    return error;
  }
  if (best.rule != nullptr) return explain_rule(spelling, *best.rule, words);
  if (best.too_wide) {
    return {"conflicting-modifier",
            0,
            static_cast<uint32_t>(spelling.size()),
            "'" + std::string(spelling) + "' is wider than the 128 bits that this target accesses at once",
            {}};
  }
  const Word& word = words[best.words_taken];
  error.begin = word.begin - 1;
  error.end = word.begin + static_cast<uint32_t>(word.text.size());
  std::vector<std::string_view> vocabulary;
  bool known = false, leading = false;
  for (const CompiledForm& form : forms) {
    for (const ModifierGroup& group : form.groups) {
      for (const ModifierWord& candidate : group.words) {
        known |= candidate.matches(word.text);
        leading |= group.leading && candidate.matches(word.text);
        vocabulary.push_back(candidate.word);
      }
    }
  }
  const std::string name = "'." + std::string(word.text) + "'";
  if (leading && best.words_taken != 0) {
    error.id = "conflicting-modifier";
    error.message = "modifier " + name + " must follow '" + std::string(head) + "' directly";
  } else if (known) {
    error.id = "conflicting-modifier";
    error.message = "modifier " + name + " does not go with the other modifiers of '" +
                    std::string(spelling) + "'" + alternatives(best);
  } else {
    error.id = "unknown-modifier";
    error.message = "unknown modifier " + name + " of '" + std::string(head) + "'" + alternatives(best);
    error.hint = did_you_mean(word.text, vocabulary, ".");
  }
  return error;
}

}  // namespace

std::string SpellingResolver::missing(const Requirement& needs) const {
  std::string text;
  if (module_.version_major * 10 + module_.version_minor < needs.ptx) {
    text = "PTX ISA " + std::to_string(needs.ptx / 10) + "." + std::to_string(needs.ptx % 10);
  }
  // What sm_100a has, the 'a' and 'f' targets of its family have as well.
  const bool family = needs.sm == 100 && module_.target_sm >= 100 && module_.target_sm < 120;
  const bool target_missing =
      needs.arch_specific ? !((module_.target_sm == needs.sm || family) && module_.target_arch_specific)
                          : module_.target_sm < needs.sm;
  if (target_missing) {
    if (!text.empty()) text += " and ";
    text += "sm_" + std::to_string(needs.sm) + (needs.arch_specific ? "a" : needs.sm > 90 ? " or newer" : "");
  }
  return text;
}

bool SpellingResolver::gone(const Requirement& until) const {
  return module_.version_major * 10 + module_.version_minor >= until.ptx && module_.target_sm >= until.sm;
}

ResolvedSpelling SpellingResolver::resolve_new(std::string_view spelling) const {
  ResolvedSpelling result;
  const InstructionTable& table = InstructionTable::get();
  std::string_view head;
  const auto forms = table.find(spelling, head);
  if (forms.empty()) {
    // Of a head of several words the whole is the better thing to compare: mbarier.init.
    const size_t second = spelling.find('.', std::min(head.size() + 1, spelling.size()));
    std::string nearest = table.nearest_head(spelling.substr(0, second));
    if (nearest.empty()) nearest = table.nearest_head(head);
    result.error = {"unknown-instruction", 0, static_cast<uint32_t>(head.size()),
                    "unknown instruction '" + std::string(head) + "'",
                    nearest.empty() ? std::string() : "did you mean '" + nearest + "'?"};
    return result;
  }
  const std::vector<Word> words = split_words(spelling, head.size());
  Fit best, unmet;
  const CompiledForm* removed = nullptr;
  for (const CompiledForm& form : forms) {
    Fit fit = fit_words(form, words);
    if (!fit.complete) {
      const bool further = best.form == nullptr || fit.words_taken > best.words_taken ||
                           (fit.words_taken == best.words_taken && rank(fit) > rank(best));
      if (further) best = fit;
    } else if (gone(form.form->until)) {
      removed = &form;
    } else if (!missing(fit.needs).empty()) {
      if (!unmet.complete) unmet = fit;
    } else {
      result.candidates.push_back(make_candidate(form, fit.modifiers));
    }
  }
  if (!result.candidates.empty()) return result;
  if (removed != nullptr) {
    result.error = {"unsupported-by-target", 0, static_cast<uint32_t>(spelling.size()),
                    "'" + std::string(spelling) + "' without '.sync' is not supported by " +
                        std::string(module_.target) + " since PTX ISA 6.4",
                    "add '.sync' and a mask of the lanes that take part"};
    return result;
  }
  if (unmet.complete) {
    const std::string what = unmet.needs_word.empty() ? "'" + std::string(spelling) + "'"
                                                      : "modifier '." + std::string(unmet.needs_word) +
                                                            "' of '" + std::string(head) + "'";
    result.error = {"unsupported-by-target",
                    0,
                    static_cast<uint32_t>(spelling.size()),
                    what + " needs " + missing(unmet.needs) + ", this module is PTX " +
                        std::to_string(module_.version_major) + "." + std::to_string(module_.version_minor) +
                        " for " + std::string(module_.target),
                    {}};
    return result;
  }
  result.error = explain(spelling, head, forms, words, best);
  return result;
}

const ResolvedSpelling& SpellingResolver::resolve(std::string_view spelling) {
  auto found = known_.find(spelling);
  if (found == known_.end()) found = known_.emplace(spelling, resolve_new(spelling)).first;
  return found->second;
}

}  // namespace ptxwire::ptx
