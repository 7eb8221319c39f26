package auth_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fsx"
)

// credentials returns a store whose file holds text.
func credentials(t testing.TB, text string) auth.CredentialsFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials.tfrc.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return auth.CredentialsFile{Path: path}
}

func wantFile(t *testing.T, path, text string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// wantOnly fails if the directory of path holds anything else, such as a lock or
// an unfinished file.
func wantOnly(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestCredentialsFileToken(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{
  "unknown": [1, {"credentials": {"a.test": {"token": "no"}}}],
  "credentials": {
    "A.Test:443": {"token": "first"},
    "b.test:8443": {"token": "b", "expires": 12345678901234567890},
    "Café.test": {"token": "cafe"},
    "xn--tda.test": {"token": "punycode"},
    "empty.test": {},
    "null.test": null,
    "null-token.test": {"token": null},
    "empty-token.test": {"token": ""},
    "https://bad.test/": {"token": "no"},
    "": "no host and no object",
    "a.test": {"token": "last"}
  },
  "Credentials": {"c.test": {"token": "no"}}
}`)
	for host, token := range map[string]string{
		"a.test": "last", "b.test:8443": "b", "b.test": "", "café.test": "cafe", "ü.test": "punycode", "c.test": "",
		"empty.test": "", "null.test": "", "null-token.test": "", "empty-token.test": "", "bad.test": "", "none.test": "",
	} {
		want(t, file, svchost.MustParse(host), token)
	}
	want(t, file, svchost.Hostname{}, "")
	hosts, err := file.Hosts()
	var names []string
	for _, h := range hosts {
		names = append(names, h.Display())
	}
	expect := []string{"a.test", "b.test:8443", "café.test", "ü.test", "empty.test", "null.test", "null-token.test", "empty-token.test"}
	if diff := cmp.Diff(expect, names); diff != "" || err != nil {
		t.Errorf("hosts: %v (-want +got):\n%s", err, diff)
	}
}

func TestCredentialsFileEmpty(t *testing.T) {
	t.Parallel()
	missing := auth.CredentialsFile{Path: filepath.Join(t.TempDir(), "sub", "dir", "credentials.tfrc.json")}
	for _, file := range []auth.CredentialsFile{
		missing, credentials(t, ""), credentials(t, " \r\n"), credentials(t, "{}"), credentials(t, `{"credentials":{}}`),
	} {
		want(t, file, hostA, "")
		if hosts, err := file.Hosts(); len(hosts) > 0 || err != nil {
			t.Errorf("hosts %v, %v", hosts, err)
		}
		if err := file.Forget(t.Context(), hostA); err != nil {
			t.Errorf("forget: %v", err)
		}
	}
	if exists(filepath.Dir(filepath.Dir(missing.Path))) {
		t.Error("forgetting made a directory")
	}
	if err := missing.Save(t.Context(), hostA, token(t, secret)); err != nil {
		t.Fatal(err)
	}
	want(t, missing, hostA, secret)
	wantFile(t, missing.Path, "{\n  \"credentials\": {\n    \"a.test\": {\n      \"token\": \""+secret+"\"\n    }\n  }\n}\n")
	wantOnly(t, missing.Path)
}

// TestCredentialsFileKeepsTheRest: what is not about the host keeps its place and
// its spelling.
func TestCredentialsFileKeepsTheRest(t *testing.T) {
	t.Parallel()
	const before = `{"z": 1.50e+003, "big": 123456789012345678901234567890, "dup": 1, "dup": 2,
"a": {"b" :[ 1,2 ,
  "<\u00e9>"]}, "credentials" : { "Other.test": {"token": "o", "n": 1.0},
  "A.TEST": {"token":"old", "note": "goes with the old token"}, "broken.test": 7, "a.test": {}, "not a host": [] },
 "\u007a": null}
`
	const after = `{
  "z": 1.50e+003,
  "big": 123456789012345678901234567890,
  "dup": 1,
  "dup": 2,
  "a": {"b" :[ 1,2 ,
  "<\u00e9>"]},
  "credentials": {
    "Other.test": {"token": "o", "n": 1.0},
%s    "broken.test": 7,
    "not a host": []
  },
  "\u007a": null
}
`
	file := credentials(t, before)
	if err := file.Save(t.Context(), hostA, token(t, `<a>&"\`)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, file.Path, fmt.Sprintf(after, "    \"a.test\": {\n      \"token\": \"<a>&\\\"\\\\\"\n    },\n"))
	want(t, file, hostA, `<a>&"\`)
	if err := file.Forget(t.Context(), hostA); err != nil {
		t.Fatal(err)
	}
	wantFile(t, file.Path, fmt.Sprintf(after, ""))
	wantOnly(t, file.Path)
}

func TestCredentialsFileNames(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{"credentials":{"xn--caf-dma.TEST:8443":{},"last.test":{}}}`)
	if err := file.Save(t.Context(), svchost.MustParse("CAFÉ.test:8443"), token(t, "x")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, file.Path, "{\n  \"credentials\": {\n    \"café.test:8443\": {\n      \"token\": \"x\"\n    },\n    \"last.test\": {}\n  }\n}\n")

	underscore, err := svchost.FromWire("a_b.test")
	if err != nil {
		t.Fatal(err)
	}
	var malformed *svchost.ParseError
	if err := file.Save(t.Context(), underscore, token(t, secret)); !errors.As(err, &malformed) {
		t.Errorf("a host that the CLI refuses: %v", err)
	}
}

func TestCredentialsFileMalformed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		line   int
		column int
		reason string
	}{
		{`{"credentials":`, 1, 16, "unexpected end of JSON input"},
		{"{\n \"credentials\": {\n  \"a.test\": {\"token\": " + secret + "}}}", 3, 23, "unexpected character looking for beginning of value"},
		{"{\n \"credentials\": {}\n} x", 3, 3, "unexpected character after top-level value"},
		{`{"credentials": {'a.test': {}}}`, 1, 18, "unexpected character looking for beginning of object key string"},
		{"\ufeff{}", 1, 1, "unexpected character looking for beginning of value"},
		{"{\"x\": \"\n\"}", 1, 8, "unexpected character in string literal"},
		{strings.Repeat("[", 20_000), 1, 10001, "nested too deep"},
		{`null`, 1, 1, "not a JSON object"},
		{"\n [\"credentials\"]", 2, 2, "not a JSON object"},
		{`{"credentials": null}`, 1, 17, "not a JSON object"},
		{`{"credentials": [{"a.test": {"token": "x"}}]}`, 1, 17, "not a JSON object"},
		{"{\"credentials\": {},\n\"credential\\u0073\": {}}", 2, 21, `a second "credentials"`},
	} {
		file := credentials(t, tt.text)
		hosts, hostsErr := file.Hosts()
		tok, err := file.Token(t.Context(), hostA)
		if !tok.IsZero() || hosts != nil {
			t.Errorf("%q: something came beside the error", tt.text)
		}
		for _, err := range []error{
			err, hostsErr, file.Save(t.Context(), hostA, token(t, secret)), file.Forget(t.Context(), hostA),
		} {
			var malformed *auth.SyntaxError
			if !errors.As(err, &malformed) {
				t.Errorf("%.40q: %v is no *SyntaxError", tt.text, err)
				continue
			}
			if malformed.Line != tt.line || malformed.Column != tt.column || !strings.Contains(malformed.Err.Error(), tt.reason) {
				t.Errorf("%.40q: %v, want line %d, column %d, %q", tt.text, malformed, tt.line, tt.column, tt.reason)
			}
			if place := fmt.Sprintf("%s:%d:%d: ", file.Path, tt.line, tt.column); !strings.Contains(err.Error(), place) {
				t.Errorf("%.40q: the error lacks %q: %v", tt.text, place, err)
			}
			wantNoLeak(t, err)
		}
		wantFile(t, file.Path, tt.text)
		wantOnly(t, file.Path)
	}
}

// TestCredentialsFileBadEntry: one host's mistake is no other host's matter, and
// can be overwritten.
func TestCredentialsFileBadEntry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ entry, reason string }{
		{`"` + secret + `"`, "not a JSON object"},
		{`["` + secret + `"]`, "not a JSON object"},
		{`{"token": 7}`, "the token is not a string"},
		{`{"token": "` + secret + ` "}`, "invalid token: byte 19 of 19 is a space or tab"},
	} {
		file := credentials(t, "{\"credentials\": {\"good.test\": {\"token\": \"ok\"},\n  \"a.test\": "+tt.entry+"}}")
		want(t, file, svchost.MustParse("good.test"), "ok")
		tok, err := file.Token(t.Context(), hostA)
		var malformed *auth.SyntaxError
		if !tok.IsZero() || !errors.As(err, &malformed) || malformed.Line != 2 || malformed.Column != 13 || malformed.Path != file.Path {
			t.Errorf("%s: %v", tt.entry, err)
			continue
		}
		if !strings.HasSuffix(err.Error(), tt.reason) {
			t.Errorf("%s: %v, want %q", tt.entry, err, tt.reason)
		}
		if strings.Contains(tt.reason, "invalid token") != errors.Is(err, auth.ErrInvalidToken) {
			t.Errorf("%s: ErrInvalidToken in %v", tt.entry, err)
		}
		wantNoLeak(t, err)
		if err := file.Save(t.Context(), hostA, token(t, "new")); err != nil {
			t.Fatal(err)
		}
		want(t, file, hostA, "new")
	}
}

func TestCredentialsFileLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	const text = `{"credentials":{"a.test":{"token":"x"}}}`
	file := credentials(t, text+strings.Repeat("\n", limit-len(text)))
	want(t, file, hostA, "x")
	tooLong := text + strings.Repeat("\n", limit+1-len(text))
	file = credentials(t, tooLong)
	_, err := file.Token(t.Context(), hostA)
	_, hostsErr := file.Hosts()
	for _, err := range []error{err, hostsErr, file.Save(t.Context(), hostA, token(t, "y")), file.Forget(t.Context(), hostA)} {
		if !errors.Is(err, auth.ErrTooLarge) {
			t.Errorf("one byte more: %v", err)
		}
	}
	wantFile(t, file.Path, tooLong)

	// What is written has the same limit.
	frame := len("{\n  \"credentials\": {\n    \"a.test\": {\n      \"token\": \"\"\n    }\n  }\n}\n")
	file = credentials(t, "")
	if err := file.Save(t.Context(), hostA, token(t, strings.Repeat("x", limit-frame))); err != nil {
		t.Fatal(err)
	}
	if err := file.Save(t.Context(), hostA, token(t, strings.Repeat("y", limit-frame+1))); !errors.Is(err, auth.ErrTooLarge) {
		t.Errorf("one byte more to write: %v", err)
	}
	want(t, file, hostA, strings.Repeat("x", limit-frame))
}

func TestCredentialsFileFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	file := credentials(t, `{"credentials":{"a.test":{"token":"x"}}}`)
	_, tokenErr := file.Token(cancelled, hostA)
	for name, tt := range map[string]struct{ err, want error }{
		"cancelled token":  {tokenErr, context.Canceled},
		"cancelled save":   {file.Save(cancelled, hostA, token(t, "y")), context.Canceled},
		"cancelled forget": {file.Forget(cancelled, hostA), errBroken},
		"no token":         {file.Save(t.Context(), hostA, auth.Token{}), auth.ErrInvalidToken},
		"directory":        {auth.CredentialsFile{Path: dir}.Save(t.Context(), hostA, token(t, "y")), fsx.ErrNotAFile},
		"file as directory": {auth.CredentialsFile{Path: filepath.Join(file.Path, "x")}.Save(t.Context(), hostA, token(t, "y")),
			syscall.ENOTDIR},
	} {
		var failed *auth.SourceError
		if !errors.As(tt.err, &failed) || failed.Host != hostA || failed.Source != "credentials file" {
			t.Errorf("%s: %v is no *SourceError", name, tt.err)
		}
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	if err := file.Save(t.Context(), svchost.Hostname{}, token(t, "y")); err == nil {
		t.Error("a token of no host was saved")
	}
	want(t, file, hostA, "x")

	for name, file := range map[string]auth.CredentialsFile{"no path": {}, "directory": {Path: dir}} {
		_, err := file.Token(t.Context(), hostA)
		_, hostsErr := file.Hosts()
		if err == nil || hostsErr == nil || file.Forget(t.Context(), hostA) == nil || file.Save(t.Context(), hostA, token(t, "y")) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestCredentialsFileWaits: a lock that somebody else has keeps nobody beyond
// the context, and nobody from reading.
func TestCredentialsFileWaits(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{"credentials":{"a.test":{"token":"x"}}}`)
	dir, name := filepath.Split(file.Path)
	lock, err := fsx.AcquireLock(t.Context(), filepath.Join(dir, "."+name+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() { done <- file.Save(ctx, hostA, token(t, "y")) }()
	go func() { done <- file.Forget(ctx, hostA) }()
	want(t, file, hostA, "x")
	cancel(errBroken)
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) || !errors.Is(err, errBroken) {
			t.Errorf("cancelled while waiting: %v", err)
		}
	}
	if err := lock.Remove(); err != nil {
		t.Fatal(err)
	}
	want(t, file, hostA, "x")
	wantOnly(t, file.Path)
}

func TestStoresBehindChainAndCache(t *testing.T) {
	t.Parallel()
	file := credentials(t, "")
	cached := auth.Cached(auth.Chain(auth.Environ(nil), file), 0)
	want(t, cached, hostA, "")
	if err := file.Save(t.Context(), hostA, token(t, secret)); err != nil {
		t.Fatal(err)
	}
	want(t, cached, hostA, "")
	cached.(auth.Invalidator).Invalidate(hostA)
	want(t, cached, hostA, secret)

	broken := credentials(t, "{")
	_, err := auth.Chain(broken, file).Token(t.Context(), hostA)
	if malformed := new(auth.SyntaxError); !errors.As(err, &malformed) {
		t.Errorf("a broken file was passed over: %v", err)
	}
}
