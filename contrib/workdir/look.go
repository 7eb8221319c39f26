package workdir

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Limits are the limits of what is read and evaluated. If a field is zero, its default is used.
type Limits struct {
	// Module is the maximum size of the files of one module in bytes. The default is 16 MiB.
	Module int

	// Words is the maximum number of words and symbols in these files. A string of JSON counts as one. hcl/v2
	// needs about 700 bytes for each. The default is 600,000.
	Words int

	// Files is the maximum size of the files of all modules in bytes. The default is 256 MiB.
	Files int

	// Packages is the maximum size of all module packages on disk in bytes, each copy counted. Up to 16 packages are
	// fetched at the same time, each with what is left at its start. The default is 16 GiB.
	Packages int64

	// Work is the maximum work for all expressions: about the bytes of the values on the way, and 128 for each word
	// of a module whose expressions are needed. The default is 2^26.
	Work int
}

// orDefault returns the limits with the defaults of zero fields.
func (l Limits) orDefault() Limits {
	return Limits{cmp.Or(l.Module, 16<<20), cmp.Or(l.Words, 600_000), cmp.Or(l.Files, 256<<20), cmp.Or(l.Packages, 16<<30), cmp.Or(l.Work, 1<<26)}
}

const (
	maxChain = 4_000  // tokens of all unfinished expressions, for each of which the parser may recurse; digits of a number, whose parser takes quadratic time
	maxWords = 50_000 // of an expression or template in a string, if it may nest deeply
)

// A lexer is one of the lexers of hclsyntax: the one of the mode in which the text will be parsed.
type lexer func(text []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

// look returns an error for a text for which the parser would recurse too deeply. Most texts have too few symbols
// for that, wherever these are. In the mode with lines, a line ends an expression.
func look(text []byte, at hcl.Range, lex lexer, lines bool) error {
	if len(text) <= maxChain {
		return nil
	}
	symbols := bytes.Count(text, []byte("=="))
	for _, c := range []byte("([{!-?+*/%<>&|") {
		symbols += bytes.Count(text, []byte{c})
	}
	for window := range slices.Chunk(text, maxChain/2) {
		if len(bytes.Trim(window, "0123456789")) == 0 { // may be in a long number
			symbols = maxChain + 1
		}
	}
	if symbols <= maxChain {
		return nil
	}
	if !lines && countWords(text) > maxWords {
		return wrong(at, "too deep nesting, or an expression of more than %d words and symbols", maxWords)
	}
	tokens, _ := lex(text, at.Filename, at.Start)
	return lookAt(tokens, lines)
}

// countWords returns a number that the number of tokens does not exceed. It counts words and symbols also in
// strings and comments, so it needs no memory, and no text can mislead it.
func countWords(text []byte) (n int) {
	word := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		isWord := c == '_' || c == '-' && word || 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			isWord = unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
			i += size - 1
		}
		if !isWord && c != ' ' && c != '\t' || isWord && !word {
			n++
		}
		word = isWord
	}
	return n
}

// isTemplate reports whether a string of JSON may have an interpolation or directive.
func isTemplate(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "%{") }

// lookJSON returns the number of words in a text, and an error for a text that is not JSON or has a string that
// cannot be parsed as a template. It stops at a number above max. The strings are exactly those of hcl/v2, which decodes them as encoding/json.
func lookJSON(text []byte, at hcl.Range, max int) (words int, err error) {
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for depth := 0; ; words += 2 {
		token, err := decoder.Token()
		switch t := token.(type) {
		case stdjson.Delim:
			if depth--; t == '{' || t == '[' {
				depth += 2
			}
		case stdjson.Number:
			if len(t) > maxChain {
				err = fmt.Errorf("a number of more than %d digits", maxChain)
			}
		case string:
			if isTemplate(t) {
				words += countWords([]byte(t))
				err = look([]byte(t), at, hclsyntax.LexTemplate, false)
			}
		}
		if depth > maxChain {
			err = fmt.Errorf("nesting of more than %d levels", maxChain)
		}
		switch {
		case err == io.EOF || words > max:
			return words, nil
		case err == nil:
			continue
		}
		at.Start.Line = 1 + bytes.Count(text[:decoder.InputOffset()], []byte("\n"))
		if e, ok := err.(*ConfigError); ok {
			return words, wrong(at, "%s", e.Text)
		}
		return words, wrong(at, "%v", err)
	}
}

// closing has the token that ends what a token begins.
var closing = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack, hclsyntax.TokenOBrace: hclsyntax.TokenCBrace,
	hclsyntax.TokenOQuote: hclsyntax.TokenCQuote, hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// level is the text between two brackets, or the whole text.
type level struct {
	end   hclsyntax.TokenType
	begun bool // has a token
	lines bool // a line ends an expression
	chain int  // tokens of the unfinished expression
}

// lookAt follows the tokens as the parser does, and adds up what it would recurse for.
func lookAt(tokens hclsyntax.Tokens, lines bool) error {
	levels, unfinished := []level{{begun: true, lines: lines}}, 0
	for _, t := range tokens {
		at := &levels[len(levels)-1]
		end, opens := closing[t.Type]
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenComma:
			if t.Type == hclsyntax.TokenComma || at.lines && bytes.HasSuffix(t.Bytes, []byte("\n")) {
				unfinished, at.chain = unfinished-at.chain, 0
			}
			continue
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			continue
		case hclsyntax.TokenEOF:
			if len(levels) > 1 {
				return wrong(t.Range, "the text ends within brackets or quotes")
			}
			continue
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(levels) == 1 || t.Type != at.end {
				return wrong(t.Range, "unexpected %.20q", t.Bytes)
			}
			unfinished, levels = unfinished-at.chain, levels[:len(levels)-1]
			continue
		case hclsyntax.TokenNumberLit:
			if len(t.Bytes) > maxChain {
				return wrong(t.Range, "a number of more than %d digits", maxChain)
			}
		}
		if !at.begun && string(t.Bytes) == "for" {
			at.lines = false // lines do not matter in {for …}
		}
		at.begun = true
		if t.Type != hclsyntax.TokenTemplateInterp { // which is a sibling of those before it
			at.chain++
			unfinished++
		}
		if opens {
			levels = append(levels, level{end: end, lines: t.Type == hclsyntax.TokenOBrace})
		}
		if unfinished+len(levels) > maxChain {
			return wrong(t.Range, "too deep nesting, or an expression that is too long")
		}
	}
	return nil
}
