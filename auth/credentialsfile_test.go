package auth_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/must"
)

// credentials returns a store with a file that contains text.
func credentials(t testing.TB, text string) auth.CredentialsFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials.tfrc.json")
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return auth.CredentialsFile{Path: path}
}

func save(t *testing.T, store auth.Store, host svchost.Hostname, token string) {
	t.Helper()
	must.Do(t, store.Save(t.Context(), host, auth.MustNewToken(token)))
}

func forget(t *testing.T, store auth.Store, host svchost.Hostname) {
	t.Helper()
	must.Do(t, store.Forget(t.Context(), host))
}

// attempts returns the errors of Token, Save and Forget.
func attempts(t *testing.T, store auth.Store) []error {
	t.Helper()
	tok, err := store.Token(t.Context(), hostA)
	if err != nil && !tok.IsZero() {
		t.Error("a token was returned beside the error")
	}
	return []error{err, store.Save(t.Context(), hostA, auth.MustNewToken(secret)), store.Forget(t.Context(), hostA)}
}

// wantSyntaxError checks that err is a *SyntaxError at a place, with reason in its text.
func wantSyntaxError(t *testing.T, err error, path string, line, column int, reason string) {
	t.Helper()
	place := fmt.Sprintf("line %d, column %d: ", line, column)
	if path != "" {
		place = fmt.Sprintf("%s:%d:%d: ", path, line, column)
	}
	e, ok := errors.AsType[*auth.SyntaxError](err)
	if !ok || e.Path != path || e.Line != line || e.Column != column || !strings.Contains(e.Err.Error(), reason) || !strings.Contains(err.Error(), place) {
		t.Errorf("error %v, want a *SyntaxError at %s%s", err, place, reason)
	}
	wantNoLeak(t, err)
}

func wantFile(t *testing.T, path, text string) {
	t.Helper()
	got := must.Get(os.ReadFile(path))(t)
	if diff := cmp.Diff(text, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// wantOnly checks that the directory of path contains no other file, such as a lock or an
// incomplete file.
func wantOnly(t *testing.T, path string) {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Dir(path)))(t)
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			t.Errorf("the directory contains the extra file %s", e.Name())
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
}

func TestCredentialsFileEmpty(t *testing.T) {
	t.Parallel()
	missing := auth.CredentialsFile{Path: filepath.Join(t.TempDir(), "sub", "dir", "credentials.tfrc.json")}
	for _, file := range []auth.CredentialsFile{
		missing, credentials(t, ""), credentials(t, " \r\n"), credentials(t, "{}"), credentials(t, `{"credentials":{}}`),
	} {
		want(t, file, hostA, "")
		if err := file.Forget(t.Context(), hostA); err != nil {
			t.Errorf("forget: %v", err)
		}
	}
	if exists(filepath.Dir(filepath.Dir(missing.Path))) {
		t.Error("forgetting made a directory")
	}
	save(t, missing, hostA, secret)
	want(t, missing, hostA, secret)
	wantFile(t, missing.Path, "{\n  \"credentials\": {\n    \"a.test\": {\n      \"token\": \""+secret+"\"\n    }\n  }\n}\n")
	wantOnly(t, missing.Path)
}

// TestCredentialsFileKeepsTheRest checks that all other content keeps its values and digits.
func TestCredentialsFileKeepsTheRest(t *testing.T) {
	t.Parallel()
	const before = `{"z": 1.50e+003, "big": 123456789012345678901234567890,
"a": {"b" :[ 1 ,
  "<\u00e9>"]}, "credentials" : { "Other.test": {"token": "o", "n": 1.0},
  "A.TEST": {"token":"old", "note": "goes with the old token"}, "broken.test": 7, "a.test": {}, "not a host": [] },
 "\u007b": null}
`
	const after = `{
  "a": {
    "b": [
      1,
      "<\u00e9>"
    ]
  },
  "big": 123456789012345678901234567890,
  "credentials": {
    "Other.test": {
      "token": "o",
      "n": 1.0
    },
%s    "broken.test": 7,
    "not a host": []
  },
  "z": 1.50e+003,
  "{": null
}
`
	file := credentials(t, before)
	save(t, file, hostA, `<a>&"\`)
	wantFile(t, file.Path, fmt.Sprintf(after, "    \"a.test\": {\n      \"token\": \"<a>&\\\"\\\\\"\n    },\n"))
	want(t, file, hostA, `<a>&"\`)
	forget(t, file, hostA)
	wantFile(t, file.Path, fmt.Sprintf(after, ""))
	wantOnly(t, file.Path)
}

func TestCredentialsFileNames(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{"credentials":{"xn--caf-dma.TEST:8443":{},"last.test":{}}}`)
	save(t, file, svchost.MustParse("CAFÉ.test:8443"), "x")
	wantFile(t, file.Path, "{\n  \"credentials\": {\n    \"café.test:8443\": {\n      \"token\": \"x\"\n    },\n    \"last.test\": {}\n  }\n}\n")

	underscore := must.Get(svchost.FromWire("a_b.test"))(t)
	if err := file.Save(t.Context(), underscore, auth.MustNewToken(secret)); !errors.As(err, new(*svchost.ParseError)) {
		t.Errorf("a host that the CLI refuses: %v", err)
	}
}

// TestCredentialsFileSweeps checks that Save removes the incomplete file of a killed process.
func TestCredentialsFileSweeps(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{}`)
	left := filepath.Join(filepath.Dir(file.Path), ".tofureg-dead.part")
	must.Do(t, os.WriteFile(left, []byte(secret), 0o600))
	save(t, file, hostA, secret)
	wantOnly(t, file.Path)
}
