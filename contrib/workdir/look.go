package workdir

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The limits of a file. hcl/v2 needs about 500 bytes for each token, and its parser recurses for each bracket,
// operator, index and template directive. With these limits, reading takes less than a second and 100 MiB.
const (
	maxFile   = 2 << 20 // bytes
	maxTokens = 200_000
	maxDepth  = 250   // open brackets, quotes and templates
	maxChain  = 2_000 // tokens of all unfinished expressions
	maxDigits = 1_000 // of a number, whose parser takes quadratic time
)

// look returns an error for a text that hcl/v2 refuses, or cannot parse within the limits.
func look(text []byte, name string) error {
	if len(text) > maxFile {
		return &ConfigError{Place{File: name}, fmt.Sprintf("more than %d bytes", maxFile)}
	}
	if !utf8.Valid(text) {
		return &ConfigError{Place{File: name}, "invalid UTF-8"}
	}
	if atMost := countTokens(text); atMost > maxTokens {
		return &ConfigError{Place{File: name}, fmt.Sprintf("more than %d words and symbols", maxTokens)}
	}
	if strings.HasSuffix(name, ".json") {
		return lookJSON(text, name)
	}
	tokens, diags := hclsyntax.LexConfig(text, name, hcl.InitialPos)
	if diags.HasErrors() {
		return diagnosed(diags)
	}
	return lookNative(tokens)
}

// countTokens returns a number that the number of tokens does not exceed. It counts words and symbols also in
// strings and comments, so it needs no memory, and no text can mislead it.
func countTokens(text []byte) (n int) {
	word := false
	for _, r := range string(text) {
		isWord := r == '_' || r == '-' && word || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
		if !isWord && r != ' ' && r != '\t' || isWord && !word {
			n++
		}
		word = isWord
	}
	return n
}

func lookJSON(text []byte, name string) error {
	bad := func(err any) error { return &ConfigError{Place{File: name}, fmt.Sprint(err)} }
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for depth := 0; ; {
		token, err := decoder.Token()
		switch t := token.(type) {
		case stdjson.Delim:
			if depth--; t == '{' || t == '[' {
				depth += 2
			}
		case stdjson.Number:
			if len(t) > maxDigits {
				return bad(fmt.Sprintf("a number of more than %d digits", maxDigits))
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return bad(err)
		case depth > maxDepth:
			return bad(fmt.Sprintf("nesting of more than %d levels", maxDepth))
		}
	}
}

// closing has the token that ends what a token begins.
var closing = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack, hclsyntax.TokenOBrace: hclsyntax.TokenCBrace,
	hclsyntax.TokenOQuote: hclsyntax.TokenCQuote, hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// level is the text between two brackets, or the whole file.
type level struct {
	end   hclsyntax.TokenType
	begun bool // has a token
	lines bool // a line ends an expression
	chain int  // tokens of the unfinished expression
}

// lookNative follows the tokens as the parser does, and adds up what it would recurse for.
func lookNative(tokens hclsyntax.Tokens) error {
	levels, unfinished := []level{{begun: true, lines: true}}, 0
	for _, t := range tokens {
		at := &levels[len(levels)-1]
		end, opens := closing[t.Type]
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenComma:
			if t.Type == hclsyntax.TokenComma || at.lines && bytes.HasSuffix(t.Bytes, []byte("\n")) {
				unfinished, at.chain = unfinished-at.chain, 0
			}
			continue
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenEOF:
			continue
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(levels) == 1 || t.Type != at.end {
				return wrong(t.Range, "unexpected %.20q", t.Bytes)
			}
			unfinished, levels = unfinished-at.chain, levels[:len(levels)-1]
			continue
		case hclsyntax.TokenNumberLit:
			if len(t.Bytes) > maxDigits {
				return wrong(t.Range, "a number of more than %d digits", maxDigits)
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
		if len(levels) > maxDepth+1 || unfinished > maxChain {
			return wrong(t.Range, "too deep nesting, or an expression that is too long")
		}
	}
	return nil
}

// maxText is the maximum size of the expression of a source or version in bytes, and of its value.
const maxText = 4 << 10
