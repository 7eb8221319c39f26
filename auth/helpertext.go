package auth

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	// maxComplaint bounds what an error repeats of a program's error output.
	maxComplaint = 512
	// minSecret is the length from which a string counts as a secret. Masking
	// shorter ones would mutilate every text.
	minSecret = 4
	redacted  = "[redacted]"
	digits    = "0123456789"
)

// complaint makes what a program wrote to its standard error fit for an error.
// If cut, its last word is incomplete. token is what the program was told, answer what it
// wrote to its standard output: neither must show.
func complaint(stderr []byte, cut bool, token Token, answer []byte) string {
	if cut {
		stderr = stderr[:bytes.LastIndexAny(stderr, space)+1]
	}
	text := strings.ToValidUTF8(string(stderr), "\uFFFD")
	text = maskKnown(text, token.Reveal())
	answered, _ := secretIn(answer) // maskWords masks the words of an invalid answer
	text = maskKnown(text, answered)
	text = maskWords(text, answer)
	text = maskPatterns(text)
	text = strings.Join(strings.Fields(text), " ")
	text = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
	return shorten(text)
}

// maskKnown replaces secret, in the spellings in which programs print what they
// were given, also where text ends within it.
func maskKnown(text, secret string) string {
	if len(secret) < minSecret {
		return text
	}
	escaped, _ := json.Marshal(secret) // cannot fail for a string
	unescaped := string(encode(secret, ""))
	for _, spelling := range []string{
		secret,
		strings.Trim(string(escaped), `"`),
		strings.Trim(unescaped, "\"\n"),
		url.QueryEscape(secret),
		url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)),
	} {
		text = strings.ReplaceAll(text, spelling, redacted)
	}
	const longest = 8 << 10 // looking for a longer part would take long
	for n := min(len(secret)-1, len(text), longest); n >= minSecret; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return text[:len(text)-n] + redacted
		}
	}
	return text
}

var word = regexp.MustCompile(`[\w.~+-]{8,}`)

// maskWords replaces the words of text that look like secrets by themselves, and
// those that may be one and are in answer too, of which nobody knows what is the
// token.
func maskWords(text string, answer []byte) string {
	answered := map[string]bool{}
	for _, w := range word.FindAll(answer, -1) {
		answered[string(w)] = true
	}
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if isRandom(w) || answered[w] && mayBeSecret(w) {
			return redacted
		}
		return w
	})
}

// mayBeSecret tells from the words of a sentence.
func mayBeSecret(w string) bool { return len(w) >= 20 || strings.ContainsAny(w, digits) }

// isRandom tells from the words of a sentence, names of files and hosts, and
// versions.
func isRandom(w string) bool {
	digit, lower, upper := strings.ContainsAny(w, digits), strings.ToUpper(w) != w, strings.ToLower(w) != w
	return digit && (lower && upper && len(w) >= 16 || (lower || upper) && len(w) >= 32 && !strings.Contains(w, "."))
}

var (
	userinfo = regexp.MustCompile(`(://)[^\s/?#@"']*@`)
	query    = regexp.MustCompile(`(://[^\s?#"']*)[?#][^\s"']*`)
	named    = regexp.MustCompile(`(?i)(\bbearer\s+|\bauthorization["']?\s*[:=]\s*["']?(?:\w+\s+)?|` +
		`(?:token|secret|password|passwd|api_?key)["']?\s*[:=]\s*["']?)([^\s"',;]{8,})`)
)

// maskPatterns replaces what stands where secrets stand: in URLs, in the header,
// and after a name that says so.
func maskPatterns(text string) string {
	text = userinfo.ReplaceAllString(text, "${1}")
	text = query.ReplaceAllString(text, "${1}?...")
	return named.ReplaceAllStringFunc(text, func(s string) string {
		m := named.FindStringSubmatch(s)
		if !mayBeSecret(m[2]) {
			return s // "invalid token: permission denied"
		}
		return m[1] + redacted
	})
}

// shorten leaves out the middle of a text that is too long.
func shorten(text string) string {
	const gap = " ... "
	const half = (maxComplaint - len(gap)) / 2
	if len(text) <= maxComplaint {
		return text
	}
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}
