// Tokens of PTX.
#pragma once
#include <string>

#include "ptx.hpp"

namespace cudanalyst::ptx {

struct Token {
  enum Kind : uint8_t { end, name, directive, integer, real32, real64, string, punctuation };
  Kind kind = end;
  char mark = 0;  // punctuation
  std::string_view text;
  uint64_t value = 0;
  uint32_t line = 0;
};

class Lexer {
 public:
  Lexer(std::string_view text, uint32_t line) : at_(text.data()), end_(text.data() + text.size()), line_(line) { advance(); }
  const Token& peek() const { return token_; }
  Token next() {
    Token result = token_;
    advance();
    return result;
  }
  bool is(char mark) const { return token_.kind == Token::punctuation && token_.mark == mark; }
  bool take(char mark) {
    if (!is(mark)) return false;
    advance();
    return true;
  }
  void expect(char mark);
  // With the current token `{` already taken: the text up to the matching brace, which is taken too.
  std::string_view skip_braces();
  // An opcode with its modifiers, as one word, starting at the current name token.
  std::string_view opcode();
  [[noreturn, gnu::cold]] void fail(const std::string& message) const;

 private:
  void advance();
  void blanks();
  void number();
  const char* at_;
  const char* end_;
  uint32_t line_;
  Token token_;
};

}  // namespace cudanalyst::ptx
