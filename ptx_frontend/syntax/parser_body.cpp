// Function bodies: blocks, declarations, labels, instructions.
#include "ptx_frontend/syntax/parser.hpp"

namespace ptxwire::ptx {

void Parser::parse_body(Function& function) {
  function_ = &function;
  scope_ = 0;
  location_ = 0;
  function.scopes[0].range.begin = token_.range.begin;
  advance();
  bool inside = true;
  while (inside) {
    if (token_.kind == TokenKind::end) {
      fail("unexpected-end",
           "the file ends inside function '" + std::string(function.name) + "', expected '}'");
      break;
    }
    if (token_.is('}')) {
      inside = parse_block_end();
    } else if (token_.is('{')) {
      function.scopes.push_back({scope_, token_.range});
      scope_ = static_cast<uint32_t>(function.scopes.size() - 1);
      advance();
    } else if (!parse_statement()) {
      recover();
    }
  }
  function_ = nullptr;
}

/// Leaves a block; false when it was the function body.
bool Parser::parse_block_end() {
  BlockScope& block = function_->scopes[scope_];
  block.range.end = token_.range.end;
  advance();
  if (scope_ == 0) return false;
  scope_ = block.parent;
  return true;
}

bool Parser::parse_dot_statement() {
  if (accept_word(".reg")) return parse_registers(function_->symbols, scope_);
  static constexpr std::pair<std::string_view, Space> kSpaces[] = {{".param", Space::param},
                                                                   {".local", Space::local},
                                                                   {".shared", Space::shared},
                                                                   {".global", Space::global},
                                                                   {".const", Space::constant}};
  for (const auto& [word, space] : kSpaces) {
    if (accept_word(word)) return parse_variables(Linkage::none, space, function_->symbols, scope_);
  }
  bool handled = false;
  if (!parse_directive(handled) || handled) return handled;
  for (std::string_view word : {".branchtargets", ".calltargets", ".callprototype"}) {
    if (at_word(word)) return fail("syntax-error", "'" + std::string(word) + "' needs a label before it");
  }
  return fail_directive("directive in a function body", {".reg", ".param", ".local", ".shared", ".global",
                                                         ".const", ".loc", ".file", ".pragma"});
}

bool Parser::parse_statement() {
  if (token_.kind == TokenKind::dot_word) return parse_dot_statement();
  const uint32_t begin = token_.range.begin;
  const uint32_t line = token_.line;
  Guard guard;
  const bool guarded = token_.is('@');
  if (guarded && !parse_guard(guard)) return false;
  if (!at_name())
    return fail_expected(guarded ? "an instruction after the guard"
                                 : "an instruction, a label or a declaration");
  return parse_label_or_instruction(begin, line, std::move(guard), guarded);
}

bool Parser::parse_guard(Guard& guard) {
  advance();
  guard.present = true;
  guard.negated = accept('!');
  if (!at_name()) return fail_expected("a predicate register after '@'");
  guard.predicate.kind = OperandKind::identifier;
  guard.predicate.name = spelling();
  guard.predicate.range = token_.range;
  advance();
  if (token_.kind == TokenKind::dot_word) return parse_component(guard.predicate);
  return true;
}

bool Parser::parse_label_or_instruction(uint32_t begin, uint32_t line, Guard guard, bool guarded) {
  Token head = token_;
  lexer_.extend_opcode(head);
  if (guarded || lexer_.peek_character() != ':')
    return parse_instruction(head, begin, line, std::move(guard));
  Symbol label;
  label.kind = SymbolKind::label;
  label.name = lexer_.spelling(head.range);
  label.range = head.range;
  label.scope = scope_;
  label.instruction = static_cast<uint32_t>(function_->body.size());
  if (label.name.find('.') != std::string_view::npos) return fail("syntax-error", "a label name has no dots");
  advance();
  advance();
  bool good = true;
  if (accept_word(".branchtargets")) {
    good = parse_label_table(SymbolKind::branch_targets, label);
  } else if (accept_word(".calltargets")) {
    good = parse_label_table(SymbolKind::call_targets, label);
  } else if (accept_word(".callprototype")) {
    good = parse_prototype(label);
  }
  function_->symbols.push_back(std::move(label));
  return good;
}

bool Parser::parse_label_table(SymbolKind kind, Symbol& label) {
  label.kind = kind;
  do {
    std::string_view name;
    SourceRange range;
    if (!parse_name(name, range, "a target name")) return false;
    label.targets.push_back(name);
  } while (accept(','));
  return expect_semicolon();
}

/// name: .callprototype [(returns)] _ [(parameters)] [.noreturn];
bool Parser::parse_prototype(Symbol& label) {
  label.kind = SymbolKind::call_prototype;
  if (token_.is('(') && !parse_parameter_list(label.prototype_returns, true)) return false;
  if (!at_name() || spelling() != "_") return fail_expected("'_' in the call prototype");
  advance();
  if (token_.is('(') && !parse_parameter_list(label.prototype_parameters, true)) return false;
  LaunchDirectives directives;
  if (!parse_launch_directives(directives)) return false;
  return expect_semicolon();
}

bool Parser::parse_instruction(Token head, uint32_t begin, uint32_t line, Guard guard) {
  Instruction instruction;
  instruction.head_range = head.range;
  instruction.text = lexer_.spelling(head.range);
  instruction.guard = std::move(guard);
  instruction.line = line;
  instruction.scope = scope_;
  instruction.location = location_;
  in_call_ = instruction.text.starts_with("call");
  in_vmad_ = instruction.text.starts_with("vmad");
  previous_ = head.range;
  token_ = lexer_.next();
  operands_.clear();
  open_braces_ = 0;
  if (!token_.is(';')) {
    const std::string_view between =
        lexer_.text().substr(head.range.end, token_.range.begin - head.range.end);
    const bool next_line = between.find('\n') != std::string_view::npos &&
                           (token_.is('}') || token_.kind == TokenKind::dot_word || token_.is('@'));
    if (!next_line) {
      do {
        if (!parse_operand(operands_.emplace_back())) {
          in_call_ = false;
          return false;
        }
      } while (accept(','));
    }
  }
  in_call_ = false;
  instruction.range = {begin, token_.range.end};
  if (!expect_semicolon()) return false;
  instruction.operands.assign(std::make_move_iterator(operands_.begin()),
                              std::make_move_iterator(operands_.end()));
  function_->body.push_back(std::move(instruction));
  return true;
}

}  // namespace ptxwire::ptx
