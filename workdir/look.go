package workdir

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/apparentlymart/go-textseg/v15/textseg"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	maxChain  = 4_000   // tokens of all unfinished expressions, for each of which the parser may recurse
	maxWords  = 50_000  // of an expression or template in a string
	maxNumber = 100     // bytes of a number, whose parser takes quadratic time
	maxPowers = 3       // digits of its exponent: the parser computes the power
	maxName   = 1_024   // bytes
	maxParts  = 100     // of a name with "::", which the parser puts together once for each part
	maxNative = 4 << 20 // bytes of a file in the native syntax
	maxEffort = 1 << 30

	nameEffort    = 1_000 // for a byte of a name of a provider that is not ASCII
	levelEffort   = 16    // for a level through which an error may pass
	exponentWords = 4     // a number with an exponent takes as much as these
	escapeWords   = 3     // and so do an escape and a letter that may be an error
	fileWords     = 16    // and so does a file
	nameBytes     = 250   // of the name of a file, which places have and are sorted by: with each, a word counts once more
)

// A guard bounds what hcl/v2 cannot bear in the texts of a walk. It has what is left.
type guard struct {
	words, bytes int // of the files of all modules
	entries      int // of directories
	problems     int
	wait         time.Duration // for files that are not regular after all
	again        int           // words, and bytes / 16, of files that are parsed a second time and kept
	effort       int           // about nanoseconds for what hcl does over and over
	doubt        int           // the same, of texts that are not lexed
}

func newGuard(l Limits) guard {
	return guard{
		words: 4 * l.Words, bytes: l.Files, entries: maxEntries, problems: maxAllProblems, wait: time.Second,
		again: l.Words / 2, effort: maxEffort, doubt: maxEffort,
	}
}

// A lexer is one of the lexers of hclsyntax: the one of the mode in which the text will be parsed.
type lexer func(text []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

// look returns the number of words of a text, and an error for a text that the parser cannot bear. If there are more
// words than max, there is no error. In the mode with lines, a line ends an expression. Most texts have too few symbols
// and lines to do harm, wherever these are, so that their tokens are not needed.
func (g *guard) look(text []byte, at hcl.Range, lex lexer, lines bool, max int) (words int, err error) {
	n := count(text)
	literals := n.markers
	if !lines || bytes.Contains(text, []byte("<<")) {
		literals += n.lines
	}
	worst := literals*(len(text)+2*literals) + 16*n.unary*(n.lines+n.comments) + levelEffort*n.braces*(n.lines+n.escapes)
	switch safe := n.symbols <= maxChain && n.joins <= maxParts && !n.odd && worst <= g.doubt/4; {
	case n.words > max:
	case safe:
		g.doubt -= worst
	default:
		tokens, _ := lex(text, at.Filename, at.Start)
		err = g.lookAt(tokens, lines)
	}
	return n.words, err
}

// A census has the numbers of what is in a text, also in its strings and comments, so that no text can mislead them.
type census struct {
	words    int // at least the number of tokens, and more for what costs more
	symbols  int // for which the parser may recurse
	unary    int // of these, signs
	braces   int // of these, what may be the begin of a block
	joins    int // pairs of colons
	escapes  int
	markers  int // twice those of templates, at which the lexer splits a literal
	lines    int
	comments int  // at least their number
	odd      bool // may have a long name, a long number or a large exponent
}

func count(text []byte) (n census) {
	run, digits, named := 0, 0, false // bytes of the word and of the digits that end here, and whether the word is a name
	for i := 0; i < len(text); i++ {
		c, size, isWord, begins := text[i], 1, true, true // a name
		switch {
		case 'a' <= c && c <= 'z': // fast, because most bytes are
			start := i
			for i+1 < len(text) && 'a' <= text[i+1] && text[i+1] <= 'z' {
				i++
			}
			size = i + 1 - start
		case 'A' <= c && c <= 'Z' || c == '_':
		case '0' <= c && c <= '9':
			begins = false
			if digits++; digits == 1 && isExponent(text[:i]) {
				n.words += exponentWords - 2 // the "e" is one
			}
			n.odd = n.odd || digits > maxNumber/3 || digits == maxPowers+1 && isExponent(text[:i+1-digits])
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			begins = unicode.IsLetter(r)
			isWord = begins || named && (unicode.IsMark(r) || unicode.IsDigit(r))
			if i += size - 1; !isWord {
				n.words += escapeWords - 1 // with an error
			}
		default:
			isWord, begins = c == '-' && named, false
			n.symbol(c, i+1 < len(text) && text[i+1] == c, i+1 < len(text) && text[i+1] == '=')
		}
		if c < '0' || c > '9' {
			digits = 0
		}
		if !isWord {
			run, named = 0, false
			if c != ' ' && c != '\t' || i > 0 && strings.IndexByte("\"}$%", text[i-1]) >= 0 { // where a literal may begin
				n.words++
			}
			continue
		}
		if run == 0 || begins && !named { // which also ends a number
			n.words++
			run, named = 0, begins
		}
		run += size
		n.odd = n.odd || run > maxName
	}
	return n
}

// isExponent reports whether the text before digits ends as a number does before its exponent.
func isExponent(text []byte) bool {
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("-")), []byte("+"))
	e := len(text) - 1
	return e > 0 && text[e]|0x20 == 'e' && (text[e-1] == '.' || '0' <= text[e-1] && text[e-1] <= '9')
}

// symbol counts a byte other than a letter or digit.
func (n *census) symbol(c byte, twice, equals bool) {
	switch c {
	case '\n':
		n.lines++
	case '#', '/':
		n.comments++
	case '$', '%':
		n.markers += 2
	case '-', '!':
		n.unary++
	case '{':
		n.braces++
	case '\\':
		n.escapes++
		n.words += escapeWords - 1
	case '@', '\'', '`':
		n.words += escapeWords - 1 // with an error
	case ':':
		if twice {
			n.joins++
		}
	case '\t', '\r':
	default:
		if c < ' ' { // likewise
			n.words += escapeWords - 1
		}
	}
	switch c {
	case '(', '[', '{', '?', '+', '-', '*', '/', '%', '!', '<', '>', '&', '|':
		n.symbols++
	case '=':
		if equals {
			n.symbols++
		}
	}
}

// isTemplate reports whether a string of JSON may have an interpolation or directive.
func isTemplate(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "%{") }

// isNumber reports whether the parser can bear a number.
func isNumber(text []byte) bool {
	exponent := text[bytes.LastIndexAny(text, "eE")+1:]
	return len(text) <= maxNumber && (len(exponent) == len(text) || len(bytes.TrimLeft(exponent, "+-")) <= maxPowers)
}

// lookJSON is look for JSON. It splits the text as the scanner of hcl/v2/json does, which another one need not: for it,
// a character such as U+0600 and the quote after it are one.
func (g *guard) lookJSON(text []byte, at hcl.Range, most int) (words int, err error) {
	var open []byte
	for i := 0; i < len(text) && words <= most; {
		size := 1
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			if i++; c == '\n' {
				at.Start.Line++
			}
			continue
		case '{', '[':
			open = append(open, c+2) // the closing bracket
			g.effort -= len(open)    // errors pass through all levels
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return words, wrong(at, "unexpected %q", c)
			}
			open = open[:len(open)-1]
		case '"':
			size = sizeOfString(text[i:])
			g.effort -= len(open)
		default:
			number := text[i:]
			number = number[:len(number)-len(bytes.TrimLeft(number, "+-.eE0123456789"))]
			if c|0x20 != 'e' && !isNumber(number) {
				return words, wrong(at, "a number of more than %d bytes, or an exponent of more than %d digits", maxNumber, maxPowers)
			}
			size = max(1, len(number))
			g.effort -= len(open)
			if bytes.ContainsAny(number, "eE") {
				words += exponentWords - 1
			}
		}
		words++
		i += size
		if len(open) > maxChain || g.effort < 0 {
			return words, wrong(at, "nesting of more than %d levels, or too much of it", maxChain)
		}
	}
	return words, nil
}

// sizeOfString returns the size of the token of hcl/v2/json for a string.
func sizeOfString(text []byte) int {
	escaping := false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			escaping = !escaping
			continue
		case c == '"' && !escaping:
			return i + 1
		case c < ' ':
			return i
		case c >= utf8.RuneSelf:
			size, _, _ := textseg.ScanGraphemeClusters(text[i:], true)
			i += size - 1
		}
		escaping = false
	}
	return len(text)
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

	run, joins, parts int // of a template: bytes of the literal that ends here, pairs that are joined, and all parts
}

// lookAt follows the tokens as the parser does, and adds up what it would recurse for and do over and over.
func (g *guard) lookAt(tokens hclsyntax.Tokens, lines bool) error {
	levels, unfinished, parts := []level{{begun: true, lines: lines}}, 0, 0
	for _, t := range tokens {
		at := &levels[len(levels)-1]
		switch t.Type {
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
			at.parts++
			if at.run > 0 { // the parser makes a new text for each pair
				at.joins++
				g.effort -= at.run
			}
			at.run += len(t.Bytes)
			g.effort -= len(t.Bytes) + levelEffort*len(levels)*bytes.Count(t.Bytes, []byte("\\"))
			continue
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			at.parts++
		case hclsyntax.TokenEOF, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc: // and moves all parts after a pair
			g.effort -= at.joins * at.parts
		case hclsyntax.TokenNewline, hclsyntax.TokenComment: // and looks behind these once for each sign
			g.effort -= 16*unfinished + levelEffort*len(levels)
		}
		at.run = 0
		if g.effort < 0 {
			return wrong(t.Range, "a template of too many parts, an expression with too many lines or comments, or too deep nesting")
		}
		switch t.Type {
		case hclsyntax.TokenDoubleColon:
			if parts++; parts > maxParts {
				return wrong(t.Range, "a name of more than %d parts", maxParts)
			}
		case hclsyntax.TokenIdent, hclsyntax.TokenNewline, hclsyntax.TokenComment:
		default:
			parts = 0
		}
		end, opens := closing[t.Type]
		switch t.Type {
		case hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenComma:
			if t.Type == hclsyntax.TokenComma || at.lines && bytes.HasSuffix(t.Bytes, []byte("\n")) {
				unfinished, at.chain = unfinished-at.chain, 0
			}
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
			if !isNumber(t.Bytes) {
				return wrong(t.Range, "a number of more than %d bytes, or an exponent of more than %d digits", maxNumber, maxPowers)
			}
		case hclsyntax.TokenIdent:
			if len(t.Bytes) > maxName {
				return wrong(t.Range, "a name of more than %d bytes", maxName)
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
