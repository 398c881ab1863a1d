// Operands and constant expressions.
#include <utility>

#include "ptx_frontend/isa/special_register.hpp"
#include "ptx_frontend/syntax/parser.hpp"
#include "ptx_frontend/syntax/selector.hpp"

namespace ptxwire::ptx {
namespace {

constexpr unsigned kMaxDepth = 200;  // of nested parentheses or braces

/// Keeps the nesting bounded: input such as a million '(' must end in an error, not in a stack overflow.
class DepthGuard {
 public:
  explicit DepthGuard(unsigned& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  unsigned& depth_;
};

}  // namespace

bool Parser::at_constant() const {
  switch (token_.kind) {
    case TokenKind::integer:
    case TokenKind::floating:
      return true;
    case TokenKind::identifier:
      return spelling() == "WARP_SZ";
    case TokenKind::punctuation:
      return token_.is('-') || token_.is('+') || token_.is('~') || token_.is('!') || token_.is('(');
    default:
      return false;
  }
}

/// operand := primary ['|' primary]
bool Parser::parse_operand(Operand& operand) {
  if (depth_ > kMaxDepth) return fail("too-deep", "operands are nested too deeply");
  const DepthGuard guard(depth_);
  const uint32_t begin = token_.range.begin;
  if (!parse_primary(operand)) return false;
  operand.range = {begin, previous_.end};
  if (!accept('|')) return true;
  Operand pair;
  pair.kind = OperandKind::pair;
  pair.elements.push_back(std::move(operand));
  pair.elements.emplace_back();
  const uint32_t second_begin = token_.range.begin;
  if (!parse_primary(pair.elements.back())) return false;
  pair.elements.back().range = {second_begin, previous_.end};
  pair.range = {begin, previous_.end};
  operand = std::move(pair);
  return true;
}

bool Parser::parse_primary(Operand& operand) {
  if (token_.kind == TokenKind::identifier && spelling() != "WARP_SZ") return parse_identifier(operand);
  if (token_.is('[')) return parse_address(operand);
  if (token_.is('{')) return parse_braced(operand);
  if (in_call_ && token_.is('(')) return parse_call_list(operand);
  if (token_.is('!')) {
    const char following = lexer_.peek_character();
    if (following == '%' || following == '_' || following == '$' || (following | 0x20) >= 'a') {
      advance();
      operand.negated = true;
      return parse_identifier(operand);
    }
  }
  if (in_vmad_ && token_.is('-') && lexer_.peek_character() == '%') {
    advance();
    operand.negated = true;
    return parse_identifier(operand);
  }
  if (at_constant()) return parse_constant_operand(operand);
  return fail_expected("an operand");
}

namespace {

/// .b0, .h1, .h10, .b3210: which bytes or halves of a register a video instruction takes.
bool is_selector(std::string_view word) {
  return word.size() >= 3 && word.size() <= 6 && (word[1] == 'b' || word[1] == 'h') &&
         word.find_first_not_of("01234567", 2) == std::string_view::npos;
}

}  // namespace

/// .x .y .z .w / .r .g .b .a after a vector register, or a selector
bool Parser::parse_component(Operand& operand) {
  if (token_.kind != TokenKind::dot_word) return true;
  const std::string_view word = spelling();
  if (is_selector(word)) {
    operand.component = kSelector;
    advance();
    return true;
  }
  const size_t place = word.size() == 2 ? std::string_view("xyzwrgba").find(word[1]) : std::string_view::npos;
  if (place == std::string_view::npos) return fail_expected("a vector component such as .x");
  operand.component = static_cast<uint8_t>(place % 4 + 1);
  advance();
  return true;
}

bool Parser::parse_identifier(Operand& operand) {
  if (!at_name()) return fail_expected("a name");
  operand.kind = OperandKind::identifier;
  operand.name = spelling();
  operand.range = token_.range;
  if (operand.name == "_") {
    operand.kind = OperandKind::sink;
    advance();
    return true;
  }
  if (const SpecialRegisterMatch match = find_special_register(operand.name); match.info != nullptr) {
    operand.kind = OperandKind::special;
    operand.special = match.value;
    advance();
    if (!parse_component(operand)) return false;
    if (operand.component == kSelector)
      return fail_at(previous_, "syntax-error", "expected a vector component such as .x, found a selector");
    if (operand.component > 1 && match.info->vector && operand.component < 4) {
      operand.special =
          static_cast<SpecialRegister>(static_cast<unsigned>(match.value) + operand.component - 1);
    }
    operand.range.end = previous_.end;
    return true;
  }
  advance();
  if (!parse_component(operand)) return false;
  operand.range.end = previous_.end;
  const bool plus = token_.is('+');
  if (!plus && !token_.is('[')) return true;
  // sym+imm and sym[imm]: an address as a value
  advance();
  uint64_t offset = 0;
  if (!plus && token_.kind == TokenKind::identifier && spelling() != "WARP_SZ") {
    return fail("unsupported-index", "an array index in a register is not supported, expected a constant",
                "compute the address and access it with [register]");
  }
  if (!parse_integer(offset, "a constant offset")) return false;
  if (!plus && !expect(']', "after the index")) return false;
  Operand with_offset;
  with_offset.kind = OperandKind::name_offset;
  with_offset.indexed = !plus;
  with_offset.negated = std::exchange(operand.negated, false);
  with_offset.offset = static_cast<int64_t>(offset);
  with_offset.name = operand.name;
  with_offset.elements.push_back(std::move(operand));
  operand = std::move(with_offset);
  return true;
}

bool Parser::parse_braced(Operand& operand) {
  advance();
  ++open_braces_;
  operand.kind = OperandKind::vector;
  if (!token_.is('}')) {
    do {
      if (!parse_operand(operand.elements.emplace_back())) return false;
    } while (accept(','));
  }
  if (!expect('}', "after the vector operand")) return false;
  --open_braces_;
  return true;
}

bool Parser::parse_call_list(Operand& operand) {
  advance();
  operand.kind = OperandKind::list;
  if (accept(')')) return true;
  do {
    if (!parse_operand(operand.elements.emplace_back())) return false;
  } while (accept(','));
  return expect(')', "after the call operands");
}

/// '[' base ['+' constant] (',' operand)* ']'
bool Parser::parse_address(Operand& operand) {
  advance();
  operand.kind = OperandKind::address;
  Operand& base = operand.elements.emplace_back();
  const SourceRange range = token_.range;
  if (at_name() && spelling() != "WARP_SZ") {
    if (!parse_identifier(base)) return false;
    if (base.indexed)
      return fail_at(range, "syntax-error", "an indexed array is an address, it takes no brackets");
    if (base.kind == OperandKind::name_offset) {
      operand.offset = base.offset;
      Operand inner = std::move(base.elements[0]);
      base = std::move(inner);
    }
  } else if (at_constant()) {
    if (!parse_constant_operand(base)) return false;
    base.range = {range.begin, previous_.end};
  } else {
    return fail_expected("a register, a variable or a constant as address");
  }
  while (accept(',')) {
    if (!parse_operand(operand.elements.emplace_back())) return false;
  }
  if (token_.is('-')) {
    return fail("syntax-error", "expected ']' after the address, found '-'",
                "a negative offset is written [r+-8]");
  }
  return expect(']', "after the address");
}

bool Parser::parse_constant_operand(Operand& operand) {
  ConstantValue value;
  if (!parse_constant(value)) return false;
  operand.kind = value.kind == ConstantValue::Kind::integer ? OperandKind::integer
                 : value.kind == ConstantValue::Kind::f32   ? OperandKind::float32
                                                            : OperandKind::float64;
  operand.is_unsigned = value.is_unsigned;
  operand.value = value.bits;
  return true;
}

// ---------------------------------------------------------------- constant expressions

bool Parser::parse_integer(uint64_t& value, std::string_view what) {
  if (!at_constant()) return fail_expected(what);
  const SourceRange range = token_.range;
  ConstantValue constant;
  if (!parse_constant(constant)) return false;
  if (!constant.is_integer())
    return fail_at(range, "syntax-error",
                   "expected " + std::string(what) + ", found a floating-point number");
  value = constant.bits;
  return true;
}

bool Parser::parse_constant(ConstantValue& value) {
  if (depth_ > kMaxDepth) return fail("too-deep", "expression is nested too deeply");
  const DepthGuard guard(depth_);
  if (!parse_binary(value, 1)) return false;
  if (!accept('?')) return true;
  ConstantValue yes, no;
  if (!parse_constant(yes) || !expect(':', "in the conditional expression") || !parse_constant(no))
    return false;
  value = value.bits != 0 ? yes : no;
  return true;
}

namespace {

struct BinaryOperator {
  ConstantOperator op = ConstantOperator::add;
  int precedence = 0;  ///< 0: no binary operator
};

BinaryOperator binary_operator(const Token& token) {
  switch (token.kind) {
    case TokenKind::logical_or:
      return {ConstantOperator::logical_or, 1};
    case TokenKind::logical_and:
      return {ConstantOperator::logical_and, 2};
    case TokenKind::equal_equal:
      return {ConstantOperator::equal, 6};
    case TokenKind::not_equal:
      return {ConstantOperator::not_equal, 6};
    case TokenKind::less_equal:
      return {ConstantOperator::less_equal, 7};
    case TokenKind::greater_equal:
      return {ConstantOperator::greater_equal, 7};
    case TokenKind::shift_left:
      return {ConstantOperator::shift_left, 8};
    case TokenKind::shift_right:
      return {ConstantOperator::shift_right, 8};
    case TokenKind::punctuation:
      break;
    default:
      return {};
  }
  switch (token.character) {
    case '|':
      return {ConstantOperator::bit_or, 3};
    case '^':
      return {ConstantOperator::bit_xor, 4};
    case '&':
      return {ConstantOperator::bit_and, 5};
    case '<':
      return {ConstantOperator::less, 7};
    case '>':
      return {ConstantOperator::greater, 7};
    case '+':
      return {ConstantOperator::add, 9};
    case '-':
      return {ConstantOperator::subtract, 9};
    case '*':
      return {ConstantOperator::multiply, 10};
    case '/':
      return {ConstantOperator::divide, 10};
    case '%':
      return {ConstantOperator::remainder, 10};
    default:
      return {};
  }
}

}  // namespace

bool Parser::parse_binary(ConstantValue& value, int precedence) {
  if (!parse_unary(value)) return false;
  while (true) {
    const BinaryOperator found_operator = binary_operator(token_);
    if (found_operator.precedence == 0 || found_operator.precedence < precedence) return true;
    const SourceRange range = token_.range;
    advance();
    ConstantValue right;
    if (!parse_binary(right, found_operator.precedence + 1)) return false;
    const ConstantError error = apply(found_operator.op, value, right, value);
    if (error != ConstantError::none) return fail_at(range, "bad-constant", std::string(describe(error)));
  }
}

bool Parser::parse_unary(ConstantValue& value) {
  if (depth_ > kMaxDepth) return fail("too-deep", "expression is nested too deeply");
  const DepthGuard guard(depth_);
  const SourceRange range = token_.range;
  if (token_.is('-') || token_.is('+') || token_.is('~') || token_.is('!')) {
    const char op = token_.character;
    advance();
    const std::string_view literal = spelling();
    if (token_.kind == TokenKind::floating && literal.size() > 1 && (literal[1] | 0x20) >= 'a') {
      return fail("bad-constant", "a hexadecimal floating literal takes no sign, its sign is in its bits");
    }
    if (!parse_unary(value)) return false;
    const ConstantError error = apply_unary(op, value, value);
    if (error != ConstantError::none) return fail_at(range, "bad-constant", std::string(describe(error)));
    return true;
  }
  if (accept('(')) {
    if (at_word(".s64") || at_word(".u64")) {  // a cast
      const bool is_unsigned = at_word(".u64");
      advance();
      if (!expect(')', "after the type of a cast") || !parse_unary(value)) return false;
      const uint64_t bits =
          value.is_integer() ? value.bits : static_cast<uint64_t>(static_cast<int64_t>(value.real()));
      value = ConstantValue::integer(bits, is_unsigned);
      return true;
    }
    return parse_constant(value) && expect(')', "in the constant expression");
  }
  if (at_name() && spelling() == "WARP_SZ") {
    value = ConstantValue::integer(32, false);
    advance();
    return true;
  }
  if (token_.kind != TokenKind::integer && token_.kind != TokenKind::floating) {
    if (at_name() && (range.begin > 0 && lexer_.text()[range.begin - 1] == '-')) {
      return fail("syntax-error", "expected a constant after '-', registers cannot be negated in an operand");
    }
    return fail_expected("a constant");
  }
  const ConstantError error = read_literal(spelling(), value);
  if (error != ConstantError::none) {
    return fail("bad-constant", "'" + std::string(spelling()) + "': " + std::string(describe(error)));
  }
  advance();
  return true;
}

}  // namespace ptxwire::ptx
