package auth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/program"
	"github.com/tofureg/tofureg/internal/weburl"
)

// A Helper is a Store that runs a credentials helper of the CLI for each call, without a terminal, see
// https://opentofu.org/docs/internals/credentials-helpers.
//
// An error has up to 512 bytes of the error output, without words that look like secrets. It wraps
// [os.ErrDeadlineExceeded] after Timeout, [failure.ErrTooLarge] for an output over 1 MiB, ErrInvalidToken or
// an [*exec.ExitError]. After an error, the program and those that it started are killed.
type Helper struct {
	Path    string          // absolute
	Args    []string        // the first arguments, which other users can see
	Env     func() []string `json:"-"` // the environment; if nil, inherited
	Timeout time.Duration   // of a call; if 0, 30 seconds; if negative, no limit
}

var _ Store = Helper{}

// Token runs the program with get.
func (h Helper) Token(ctx context.Context, host svchost.Hostname) (Token, error) {
	if host.IsZero() {
		return Token{}, nil
	}
	return h.call(ctx, "get", host, Token{})
}

// Save runs the program with store.
func (h Helper) Save(ctx context.Context, host svchost.Hostname, token Token) error {
	if err := checkSave(host, token); err != nil {
		return h.failed("store", host, "", err)
	}
	_, err := h.call(ctx, "store", host, token)
	return err
}

// Forget runs the program with forget.
func (h Helper) Forget(ctx context.Context, host svchost.Hostname) error {
	if host.IsZero() {
		return h.failed("forget", host, "", errNoHost)
	}
	_, err := h.call(ctx, "forget", host, Token{})
	return err
}

func (h Helper) failed(verb string, host svchost.Hostname, stderr string, err error) error {
	err = fmt.Errorf("%s: %w", verb, err)
	if stderr != "" {
		err = fmt.Errorf("%w: %s", err, stderr)
	}
	return &SourceError{Host: host, Source: h.String(), Err: err}
}

// String describes the program.
func (h Helper) String() string { return fmt.Sprintf("credentials helper %q", h.Path) }

const (
	helperTimeout = 30 * time.Second
	// helperGrace is the time in which the output must be closed after the end of the
	// program. A pipeline in the background needs it.
	helperGrace = time.Second
	// maxHelperOutput is the maximum size of each output in bytes.
	maxHelperOutput = 1 << 20
)

// call runs the program once. For the verb "get" it returns the token in the answer; for
// "store" it passes token to the program.
func (h Helper) call(ctx context.Context, verb string, host svchost.Hostname, token Token) (found Token, err error) {
	if !filepath.IsAbs(h.Path) {
		return Token{}, h.failed(verb, host, "", errors.New("its path is not absolute"))
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if timeout := cmp.Or(h.Timeout, helperTimeout); timeout > 0 {
		var stop context.CancelFunc
		inner, stop = context.WithTimeoutCause(inner, timeout, fmt.Errorf("no answer within %v: %w", timeout, os.ErrDeadlineExceeded))
		defer stop()
	}
	answer := &limitedBuffer{name: "output", exceeded: cancel}
	stderr := &limitedBuffer{name: "error output", exceeded: cancel}
	cmd := exec.CommandContext(inner, h.Path, slices.Concat(h.Args, []string{verb, host.String()})...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = answer, stderr, helperGrace
	if h.Env != nil {
		// Not nil: for exec, nil is the environment of this process.
		cmd.Env = append([]string{}, h.Env()...)
	}
	if !token.IsZero() {
		cmd.Stdin = bytes.NewReader(credentials(token))
	}
	group, err := program.Start(cmd, 0)
	if err == nil {
		defer group.Close()
		err = cmd.Wait()
	}
	switch {
	case ctx.Err() != nil:
		err = fault.Ended(ctx)
	case inner.Err() != nil:
		err = context.Cause(inner) // the timeout, or too much output
	case errors.Is(err, exec.ErrWaitDelay):
		err = errors.New("it has ended, but a child process keeps its output open")
	case errors.Is(err, exec.ErrNotFound): // on Windows
		err = &fs.PathError{Op: "run", Path: h.Path, Err: fs.ErrNotExist}
	case err == nil && verb == "get":
		found, err = parseAnswer(answer.buf)
	}
	if err == nil {
		return found, nil
	}
	if group != nil {
		_ = group.Kill()
	}
	return Token{}, h.failed(verb, host, cleanStderr(stderr.buf, stderr.full, token, answer.buf), err)
}

// parseAnswer reads the output of get.
func parseAnswer(answer []byte) (Token, error) {
	if len(bytes.TrimSpace(answer)) == 0 {
		return Token{}, errors.New("empty answer")
	}
	token, err := parseCredentials(answer)
	if err != nil {
		return Token{}, fmt.Errorf("invalid answer: %w", err)
	}
	return token, nil
}

// A limitedBuffer stores up to maxHelperOutput bytes, and calls exceeded if there are more.
type limitedBuffer struct {
	name     string
	exceeded context.CancelCauseFunc
	buf      []byte
	full     bool // the end of the output is missing
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	fits := min(len(p), maxHelperOutput-len(b.buf))
	b.buf = append(b.buf, p[:fits]...)
	if fits == len(p) {
		return len(p), nil
	}
	err := fmt.Errorf("%s of more than %d bytes: %w", b.name, maxHelperOutput, failure.ErrTooLarge)
	b.full = true
	b.exceeded(err)
	return fits, err
}

const (
	// maxStderr is the maximum size of the error output in errors, in bytes.
	maxStderr = 512
	// minSecret is the minimum length of a secret. Masking shorter strings would make
	// every text unreadable.
	minSecret = 4
	redacted  = "[redacted]"
	digits    = "0123456789"
)

// cleanStderr returns the error output of a program as one line of at most maxStderr printable bytes. If
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
	text = named.ReplaceAllStringFunc(weburl.RedactText(text), func(s string) string {
		m := named.FindStringSubmatch(s)
		if !mayBeSecret(m[2]) {
			return s // "invalid token: permission denied"
		}
		return m[1] + redacted
	})
	text = strings.Join(strings.Fields(text), " ")
	text = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
	const gap = " ... " // in place of the middle of a long text
	const half = (maxStderr - len(gap)) / 2
	if len(text) <= maxStderr {
		return text
	}
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
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

// named matches words at the place of secrets: in headers, and after names such as "password".
var named = regexp.MustCompile(`(?i)(\bbearer\s+|\bauthorization["']?\s*[:=]\s*["']?(?:\w+\s+)?|` +
	`(?:token|secret|password|passwd|api_?key)["']?\s*[:=]\s*["']?)([^\s"',;]{8,})`)
