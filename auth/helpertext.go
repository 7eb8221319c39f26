package auth

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	// maxStderr is the maximum size of HelperError.Stderr in bytes.
	maxStderr = 512
	// minSecret is the minimum length of a secret. Masking shorter strings would make
	// every text unreadable.
	minSecret = 4
	redacted  = "[redacted]"
	digits    = "0123456789"
)

// cleanStderr returns the error output of a program in the form of HelperError.Stderr. If
// cut is true, its last word is incomplete. The result contains neither the token, which the
// program received, nor the words of the answer that can be a token.
func cleanStderr(stderr []byte, cut bool, token Token, answer []byte) string {
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

// maskKnown replaces secret in its usual encodings, and a prefix of it at the end of text.
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
	const longest = 8 << 10 // limits the time
	for n := min(len(secret)-1, len(text), longest); n >= minSecret; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return text[:len(text)-n] + redacted
		}
	}
	return text
}

var word = regexp.MustCompile(`[\w.~+-]{8,}`)

// maskWords replaces the words of text that look like secrets, and the words of an answer
// that can be a secret.
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

// mayBeSecret reports whether w differs from the words of a sentence.
func mayBeSecret(w string) bool { return len(w) >= 20 || strings.ContainsAny(w, digits) }

// isRandom reports whether w differs from words of a sentence, names of files and hosts, and
// versions.
func isRandom(w string) bool {
	digit, lower, upper := strings.ContainsAny(w, digits), strings.ToUpper(w) != w, strings.ToLower(w) != w
	return digit && (lower && upper && len(w) >= 16 || (lower || upper) && len(w) >= 32 && !strings.Contains(w, "."))
}

var named = regexp.MustCompile(`(?i)(\bbearer\s+|\bauthorization["']?\s*[:=]\s*["']?(?:\w+\s+)?|` +
	`(?:token|secret|password|passwd|api_?key)["']?\s*[:=]\s*["']?)([^\s"',;]{8,})`)

// maskPatterns replaces words at the place of secrets: in URLs, in headers, and after names
// such as "password".
func maskPatterns(text string) string {
	return named.ReplaceAllStringFunc(weburl.RedactText(text), func(s string) string {
		m := named.FindStringSubmatch(s)
		if !mayBeSecret(m[2]) {
			return s // "invalid token: permission denied"
		}
		return m[1] + redacted
	})
}

// shorten removes the middle of a long text.
func shorten(text string) string {
	const gap = " ... "
	const half = (maxStderr - len(gap)) / 2
	if len(text) <= maxStderr {
		return text
	}
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}
