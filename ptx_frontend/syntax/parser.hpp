// Recursive-descent parser of one PTX module. Internal to syntax/: the entrance is parse() of frontend.hpp.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx_frontend/syntax/ast.hpp"
#include "ptx_frontend/syntax/constant.hpp"
#include "ptx_frontend/syntax/diagnostics.hpp"
#include "ptx_frontend/syntax/lexer.hpp"

namespace ptxwire::ptx {

/// Every `parse_*` of a statement part returns false after it has reported an error; the statement loop then
/// skips to the next ';' or '}' and goes on, so that one run reports all independent errors.
class Parser {
 public:
  Parser(Module& module, Diagnostics& diagnostics);
  void parse_module();

 private:
  // ---- tokens
  void advance() {
    previous_ = token_.range;
    token_ = lexer_.next();
  }
  [[nodiscard]] std::string_view spelling() const { return lexer_.spelling(token_.range); }
  [[nodiscard]] bool at_word(std::string_view word) const {
    return token_.kind == TokenKind::dot_word && spelling() == word;
  }
  [[nodiscard]] bool at_name() const { return token_.kind == TokenKind::identifier; }
  bool accept(char c);
  bool accept_word(std::string_view word);
  bool expect(char c, std::string_view after);
  bool expect_semicolon();
  bool fail(std::string_view id, std::string message, std::string hint = {});
  bool fail_at(SourceRange range, std::string_view id, std::string message, std::string hint = {});
  bool fail_expected(std::string_view what);
  [[nodiscard]] std::string found() const;
  void recover();
  bool fail_directive(std::string_view where, std::initializer_list<std::string_view> known);

  // ---- module level (parser_module.cpp, parser_directive.cpp)
  bool parse_header();
  bool parse_version();
  bool parse_target();
  bool parse_address_size();
  bool parse_module_statement();
  bool parse_directive(bool& handled);
  bool parse_file();
  bool parse_location();
  bool parse_location_triple(Location& location);
  bool parse_pragma();
  bool parse_section();
  bool parse_alias();
  bool parse_attribute();
  bool parse_function(Linkage linkage, bool is_entry);
  bool parse_launch_directives(LaunchDirectives& directives);
  bool parse_counts(uint32_t* counts, unsigned limit);
  void register_function(Function&& function);

  // ---- declarations (parser_declaration.cpp)
  bool parse_variables(Linkage linkage, Space space, std::vector<Symbol>& into, uint32_t scope);
  bool parse_registers(std::vector<Symbol>& into, uint32_t scope);
  bool parse_declarator(Symbol& symbol);
  bool parse_dimensions(Symbol& symbol);
  bool parse_type(Symbol& symbol);
  bool parse_parameter(Symbol& symbol, bool name_optional);
  bool parse_parameter_list(std::vector<Symbol>& parameters, bool name_optional);
  bool parse_alignment(uint32_t& align);
  bool parse_initialiser(Symbol& symbol);
  bool parse_initialiser_list(Symbol& symbol, size_t dimension, uint64_t first);
  bool parse_initialiser_item(Symbol& symbol, uint64_t index);
  bool parse_initialiser_constant(const Symbol& symbol, InitialiserItem& item);
  bool parse_name(std::string_view& name, SourceRange& range, std::string_view what);

  // ---- function bodies (parser_body.cpp)
  void parse_body(Function& function);
  bool parse_statement();
  bool parse_block_end();
  bool parse_dot_statement();
  bool parse_label_table(SymbolKind kind, Symbol& label);
  bool parse_prototype(Symbol& label);
  bool parse_instruction(Token opcode, uint32_t begin, uint32_t line, Guard guard);
  bool parse_guard(Guard& guard);
  bool parse_label_or_instruction(uint32_t begin, uint32_t line, Guard guard, bool guarded);

  // ---- operands and constants (parser_operand.cpp)
  bool parse_operand(Operand& operand);
  bool parse_primary(Operand& operand);
  bool parse_identifier(Operand& operand);
  bool parse_component(Operand& operand);
  bool parse_braced(Operand& operand);
  bool parse_call_list(Operand& operand);
  bool parse_address(Operand& operand);
  bool parse_constant_operand(Operand& operand);
  bool parse_constant(ConstantValue& value);
  /// Binary operators of at least this precedence (binary_operator in parser_operand.cpp).
  static constexpr int kAbovePrecedenceOfComparison = 9;
  bool parse_binary(ConstantValue& value, int precedence);
  bool parse_unary(ConstantValue& value);
  bool parse_integer(uint64_t& value, std::string_view what);
  [[nodiscard]] bool at_constant() const;

  Module& module_;
  Diagnostics& diagnostics_;
  Lexer lexer_;
  Token token_;
  SourceRange previous_;          ///< range of the token before token_
  Function* function_ = nullptr;  ///< function whose body is being parsed
  uint32_t scope_ = 0;
  uint32_t location_ = 0;
  bool in_call_ = false;              ///< '(' begins an argument list
  bool in_vmad_ = false;              ///< '-' may stand before a register
  bool truncated_ = false;            ///< the end of the text was reported
  unsigned open_braces_ = 0;          ///< '{' of vector operands read and not closed
  unsigned depth_ = 0;                ///< nesting of expressions and braces, bounded against runaway input
  std::vector<uint64_t> dimensions_;  ///< of the declarator just read
  std::vector<Operand> operands_;     ///< scratch of parse_instruction
  std::unordered_map<std::string_view, uint32_t> function_symbols_;
};

}  // namespace ptxwire::ptx
