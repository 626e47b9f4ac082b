#include "lexer.hpp"

#include <cstdlib>
#include <cstring>

namespace cudanalyst::ptx {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void Lexer::blanks() {
  for (; at_ < end_; ++at_) {
    if (*at_ == '\n') {
      ++line_;
    } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '/') {
      while (at_ + 1 < end_ && at_[1] != '\n') ++at_;
    } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '*') {
      for (at_ += 2; at_ + 1 < end_ && !(at_[0] == '*' && at_[1] == '/'); ++at_) line_ += *at_ == '\n';
      ++at_;
    } else if (*at_ != ' ' && *at_ != '\t' && *at_ != '\r') {
      return;
    }
  }
}

void Lexer::number() {
  const char* start = at_;
  token_.kind = Token::integer;
  uint64_t value = 0;
  if (*at_ == '0' && at_ + 1 < end_ && (at_[1] == 'f' || at_[1] == 'F' || at_[1] == 'd' || at_[1] == 'D')) {
    token_.kind = (at_[1] | 0x20) == 'f' ? Token::real32 : Token::real64;
    for (at_ += 2; at_ < end_ && hex_digit(*at_) >= 0; ++at_) value = value << 4 | static_cast<uint64_t>(hex_digit(*at_));
  } else if (*at_ == '0' && at_ + 1 < end_ && (at_[1] | 0x20) == 'x') {
    for (at_ += 2; at_ < end_ && hex_digit(*at_) >= 0; ++at_) value = value << 4 | static_cast<uint64_t>(hex_digit(*at_));
  } else if (*at_ == '0' && at_ + 1 < end_ && (at_[1] | 0x20) == 'b') {
    for (at_ += 2; at_ < end_ && (*at_ == '0' || *at_ == '1'); ++at_) value = value << 1 | static_cast<uint64_t>(*at_ - '0');
  } else {
    const bool octal = *at_ == '0';
    while (at_ < end_ && is_digit(*at_)) {
      value = value * (octal ? 8 : 10) + static_cast<uint64_t>(*at_ - '0');
      ++at_;
    }
    if (at_ + 1 < end_ && *at_ == '.' && is_digit(at_[1])) {
      char* stop = nullptr;
      const std::string copy(start, std::min<size_t>(static_cast<size_t>(end_ - start), 64));
      const double real = std::strtod(copy.c_str(), &stop);
      at_ = start + (stop - copy.c_str());
      std::memcpy(&value, &real, 8);
      token_.kind = Token::real64;
    }
  }
  if (token_.kind == Token::integer && at_ < end_ && *at_ == 'U') ++at_;
  token_.value = value;
  token_.text = {start, static_cast<size_t>(at_ - start)};
}

void Lexer::advance() {
  blanks();
  token_ = Token{};
  token_.line = line_;
  if (at_ >= end_) return;
  const char* start = at_;
  const char c = *at_;
  if (is_digit(c)) return number();
  if (c == '"') {
    for (++at_; at_ < end_ && *at_ != '"'; ++at_) line_ += *at_ == '\n';
    token_.kind = Token::string;
    token_.text = {start + 1, static_cast<size_t>(at_ - start - 1)};
    if (at_ < end_) ++at_;
    return;
  }
  if (c == '.' && at_ + 1 < end_ && is_word(at_[1])) {
    for (++at_; at_ < end_ && (is_word(*at_) || (*at_ == ':' && at_ + 1 < end_ && at_[1] == ':' && ++at_)); ++at_) {}
    token_.kind = Token::directive;
  } else if (is_word(c) || (c == '%' && at_ + 1 < end_ && is_word(at_[1]))) {
    for (++at_; at_ < end_ && is_word(*at_); ++at_) {}
    if (c == '%' && at_ + 1 < end_ && *at_ == '.' && at_[1] >= 'w' && at_[1] <= 'z' && (at_ + 2 >= end_ || !is_word(at_[2]))) at_ += 2;
    token_.kind = Token::name;
  } else {
    token_.kind = Token::punctuation;
    token_.mark = c;
    ++at_;
  }
  token_.text = {start, static_cast<size_t>(at_ - start)};
}

std::string_view Lexer::opcode() {
  // The current token is the first name; modifiers follow it without blanks.
  const char* start = token_.text.data();
  const char* stop = start + token_.text.size();
  while (stop < end_ && (is_word(*stop) || *stop == '.' || *stop == ':')) ++stop;
  at_ = stop;
  advance();
  return {start, static_cast<size_t>(stop - start)};
}

std::string_view Lexer::skip_braces() {
  // token_ is the first token after the brace; scan the raw text for the matching one.
  const char* start = token_.kind == Token::end ? end_ : token_.text.data() - (token_.kind == Token::string);
  line_ = token_.line;
  at_ = start;
  int depth = 1;
  for (; at_ < end_; ++at_) {
    if (*at_ == '\n') ++line_;
    else if (*at_ == '{') ++depth;
    else if (*at_ == '}' && --depth == 0) break;
    else if (*at_ == '"') {
      for (++at_; at_ < end_ && *at_ != '"'; ++at_) {}
    } else if (*at_ == '/' && at_ + 1 < end_ && at_[1] == '/') {
      while (at_ + 1 < end_ && at_[1] != '\n') ++at_;
    }
  }
  if (at_ >= end_) fail("a brace is not closed");
  std::string_view body(start, static_cast<size_t>(at_ - start));
  ++at_;
  advance();
  return body;
}

void Lexer::expect(char mark) {
  if (!take(mark)) fail(std::string("expected '") + mark + "' before '" + std::string(token_.text) + "'");
}

void Lexer::fail(const std::string& message) const { throw ParseError(message, token_.line); }

}  // namespace cudanalyst::ptx
