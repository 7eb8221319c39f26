package doccache

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// directives are those of a Cache-Control header (section 5.2 and RFC 5861) that mean
// something here: of an answer all that concern a private cache, of a request those that ask
// for something newer. A time that is not there is negative.
type directives struct {
	noStore, noCache, mustRevalidate bool

	maxAge, staleIfError time.Duration
}

const (
	absent  = time.Duration(-1)
	forever = time.Duration(math.MaxInt64)
)

// parseDirectives reads the Cache-Control header of a request or an answer.
func parseDirectives(h http.Header) directives {
	d := directives{maxAge: absent, staleIfError: absent}
	lines := h["Cache-Control"]
	if len(lines) == 0 {
		// Section 5.4: what HTTP/1.0 had in its place.
		d.noCache = strings.Contains(strings.ToLower(h.Get("Pragma")), "no-cache")
	}
	for _, line := range lines {
		for line != "" {
			var name, value string
			name, value, line = cutDirective(line)
			d.set(strings.ToLower(name), value)
		}
	}
	return d
}

func (d *directives) set(name, value string) {
	switch name {
	case "no-store":
		d.noStore = true
	case "no-cache": // also for single fields: the answer is more than without them
		d.noCache = true
	case "must-revalidate":
		d.mustRevalidate = true
	case "max-age":
		shorter(&d.maxAge, seconds(value))
	case "stale-if-error":
		shorter(&d.staleIfError, seconds(value))
	}
}

// shorter takes the shorter one of two times that contradict each other.
func shorter(d *time.Duration, value time.Duration) {
	if *d == absent || value < *d {
		*d = value
	}
}

// seconds reads a number of seconds. What is none counts as zero, what is too large as
// 2^31 (section 1.2.2).
func seconds(s string) time.Duration {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		n = 1 << 31
	}
	return time.Duration(n) * time.Second
}

// cutDirective cuts the first directive from a list, which ends with a comma outside
// quotes.
func cutDirective(s string) (name, value, rest string) {
	i := strings.IndexAny(s, ",=")
	if i < 0 {
		return strings.TrimSpace(s), "", ""
	}
	name, rest = strings.TrimSpace(s[:i]), s[i+1:]
	if s[i] == ',' {
		return name, "", rest
	}
	rest = strings.TrimLeft(rest, " \t")
	if !strings.HasPrefix(rest, `"`) {
		value, rest, _ = strings.Cut(rest, ",")
		return name, strings.TrimSpace(value), rest
	}
	value, rest = cutQuoted(rest[1:])
	_, rest, _ = strings.Cut(rest, ",")
	return name, value, rest
}

// cutQuoted reads up to the closing quote.
func cutQuoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i == len(s) {
				return b.String(), ""
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
