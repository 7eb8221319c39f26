package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
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

// wantSyntaxError checks that err names a place and then reason.
func wantSyntaxError(t *testing.T, err error, path string, line, column int, reason string) {
	t.Helper()
	place := fmt.Sprintf("%s:%d:%d: ", path, line, column)
	if _, rest, ok := strings.Cut(err.Error(), place); !ok || !strings.Contains(rest, reason) {
		t.Errorf("error %v, want %s%s", err, place, reason)
	}
	wantNoLeak(t, err)
}

// wantPlace checks that err names a line of text and a column.
func wantPlace(t *testing.T, text []byte, err error) {
	t.Helper()
	var line, column int
	if n, _ := fmt.Sscanf(err.Error(), ":%d:%d:", &line, &column); n != 2 || line < 1 || column < 1 || line > bytes.Count(text, []byte("\n"))+1 {
		t.Fatalf("%q: %v, want its line and column", text, err)
	}
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

func TestCredentialsFileMalformed(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct {
		Text         string
		Line, Column int
		Reason       string
	}](t, "credentials-files-malformed.txt") {
		file := credentials(t, tt.Text)
		for _, err := range attempts(t, file) {
			wantSyntaxError(t, err, file.Path, tt.Line, tt.Column, tt.Reason)
		}
		wantFile(t, file.Path, tt.Text)
		wantOnly(t, file.Path)
	}
}

// TestCredentialsFileBadEntry checks that an invalid entry does not affect other hosts, and
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
		wantSyntaxError(t, err, file.Path, 2, 13, tt.reason)
		if !tok.IsZero() || strings.Contains(tt.reason, "invalid token") != errors.Is(err, auth.ErrInvalidToken) {
			t.Errorf("%s: token %v, ErrInvalidToken in %v", tt.entry, tok, err)
		}
		save(t, file, hostA, "new")
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
	for _, err := range attempts(t, file) {
		if !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("one byte more: %v", err)
		}
	}
	wantFile(t, file.Path, tooLong)

	// The limit for writing is the same.
	frame := len("{\n  \"credentials\": {\n    \"a.test\": {\n      \"token\": \"\"\n    }\n  }\n}\n")
	file = credentials(t, "")
	save(t, file, hostA, strings.Repeat("x", limit-frame))
	if err := file.Save(t.Context(), hostA, auth.MustNewToken(strings.Repeat("y", limit-frame+1))); !errors.Is(err, failure.ErrTooLarge) {
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
		"cancelled save":   {file.Save(cancelled, hostA, auth.MustNewToken("y")), context.Canceled},
		"cancelled forget": {file.Forget(cancelled, hostA), errBroken},
		"no token":         {file.Save(t.Context(), hostA, auth.Token{}), auth.ErrInvalidToken},
		"directory":        {auth.CredentialsFile{Path: dir}.Save(t.Context(), hostA, auth.MustNewToken("y")), fsx.ErrNotAFile},
		"file as directory": {auth.CredentialsFile{Path: filepath.Join(file.Path, "x")}.Save(t.Context(), hostA, auth.MustNewToken("y")),
			syscall.ENOTDIR},
	} {
		var failed *auth.SourceError
		if !errors.As(tt.err, &failed) || failed.Host != hostA || failed.Source != "credentials file" {
			t.Errorf("%s: %v, want a *SourceError of the credentials file", name, tt.err)
		}
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	if err := file.Save(t.Context(), svchost.Hostname{}, auth.MustNewToken("y")); err == nil {
		t.Error("a token of no host was saved")
	}
	want(t, file, hostA, "x")

	for name, file := range map[string]auth.CredentialsFile{"no path": {}, "directory": {Path: dir}} {
		if slices.Contains(attempts(t, file), nil) {
			t.Errorf("%s: no error", name)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("the directory has new files: %v", entries)
	}
}

// TestCredentialsFileWithoutPath: nothing in the working directory is touched.
func TestCredentialsFileWithoutPath(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("..lock", []byte("mine"), 0o600))
	if err := (auth.CredentialsFile{}).Save(t.Context(), hostA, auth.MustNewToken("y")); err == nil {
		t.Error("Save without a path: no error")
	}
	if data, err := os.ReadFile("..lock"); err != nil || string(data) != "mine" {
		t.Errorf("file in the working directory: %q, %v, want it unchanged", data, err)
	}
}

// TestCredentialsFileWaits checks that a change waits for a lock until its context ends, and
// that reading does not wait.
func TestCredentialsFileWaits(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{"credentials":{"a.test":{"token":"x"}}}`)
	dir, name := filepath.Split(file.Path)
	lock := must.Get(fsx.AcquireLock(t.Context(), filepath.Join(dir, "."+name+".lock")))(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() { done <- file.Save(ctx, hostA, auth.MustNewToken("y")) }()
	go func() { done <- file.Forget(ctx, hostA) }()
	want(t, file, hostA, "x")
	cancel(errBroken)
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) || !errors.Is(err, errBroken) {
			t.Errorf("cancelled while waiting: %v", err)
		}
	}
	must.Do(t, lock.Remove())
	want(t, file, hostA, "x")
	wantOnly(t, file.Path)
}

// TestCredentialsFileWriters changes one file from processes and goroutines at the same time,
// some of them through a symbolic link. No change may be lost, readers must find a complete
// file, and other users must not be able to read an incomplete file.
func TestCredentialsFileWriters(t *testing.T) {
	t.Parallel()
	file := credentials(t, `{"keep": 1.0, "credentials": {"gone.test": {"token": "x"}}}`)
	paths := []string{file.Path, file.Path}
	link := filepath.Join(t.TempDir(), "link")
	_ = os.Symlink(file.Path, link)
	if _, err := os.Stat(link); err == nil { // Windows may refuse
		paths[1] = link
	}
	program := must.Get(os.Executable())(t)
	var writers, readers sync.WaitGroup
	for i := range 3 {
		writers.Go(func() {
			cmd := exec.Command(program, "save")
			cmd.Env = append(os.Environ(), roleVariable+"=save", fileVariable+"="+paths[i%2], fmt.Sprint(outVariable, "=process", i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
		writers.Go(func() {
			if err := saveMany(paths[i%2], fmt.Sprint("routine", i)); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Go(func() {
		if err := file.Forget(t.Context(), svchost.MustParse("gone.test")); err != nil {
			t.Error(err)
		}
	})
	over := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				watchWriters(t, file)
			}
		}
	})
	writers.Wait()
	close(over)
	readers.Wait()

	want(t, file, svchost.MustParse("gone.test"), "")
	for i := range 60 {
		name := fmt.Sprintf("%s%d-%d", []string{"process", "routine"}[i%2], i/2%3, i/6)
		want(t, file, svchost.MustParse(name+".test"), "token-"+name)
	}
	text, err := os.ReadFile(file.Path)
	if err != nil || !strings.Contains(string(text), `"keep": 1.0`) {
		t.Errorf("other members have changed: %v: %.40q", err, text)
	}
	wantOnly(t, file.Path)
}

// watchWriters checks the file and the modes of incomplete files.
func watchWriters(t *testing.T, file auth.CredentialsFile) {
	if _, err := file.Token(t.Context(), hostA); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(file.Path))
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), fsx.TempPrefix) {
			continue
		}
		if runtime.GOOS != "windows" && info.Mode() != fs.FileMode(0o600) {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

// decoded returns what a decoder finds in a credentials file, numbers as they
// are spelled, without the entries of host.
func decoded(t *testing.T, text []byte, host svchost.Hostname) map[string]any {
	t.Helper()
	all := map[string]any{}
	if len(bytes.TrimSpace(text)) > 0 {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&all); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	entries, _ := all["credentials"].(map[string]any)
	if entries == nil {
		all["credentials"] = map[string]any{}
	}
	for name := range entries {
		if h, err := svchost.FromWire(name); err == nil && h == host {
			delete(entries, name)
		}
	}
	return all
}

// FuzzCredentialsFile looks for files that panic, that lose something else when a
// token is saved or forgotten, or that do not hold what was saved.
func FuzzCredentialsFile(f *testing.F) {
	for _, text := range []string{
		"", " \n", "{}", "null", "[]", `{"credentials":{}}`, `{"credentials":{"a.test":{"token":"x"}}}`, `{"credentials":[]}`,
		`{"a":1e999,"b":[{"c":"}\""},[[]],null,true],"credentials":{"A.TEST:443":{"token":7},"b":{"n":-0.0},"\u0061.test":0}}`,
		`{"credentials":{},"credentials":{}}`, `{"a":1,"a":2,"":{"credentials":"\\"}}`, "{\"a\"\t:\r\n1 , \"b\":\"\xff\"}", `{"a":"\ud800"}`,
	} {
		f.Add([]byte(text))
	}
	fresh := auth.MustNewToken(secret)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, readErr := auth.ReadCredentials(text, hostA)
		saved, err := auth.EditCredentials(text, hostA, fresh)
		if err != nil {
			wantPlace(t, text, err)
			if readErr == nil {
				t.Fatalf("%q can be read, but not changed: %v", text, err)
			}
			return
		}
		forgotten := must.Get(auth.EditCredentials(text, hostA, auth.Token{}))(t)
		for out, secret := range map[string]string{string(saved): secret, string(forgotten): ""} {
			tok, err := auth.ReadCredentials([]byte(out), hostA)
			if tok.Reveal() != secret || err != nil {
				t.Fatalf("%q became %q, which holds %q, %v", text, out, tok.Reveal(), err)
			}
			if diff := cmp.Diff(decoded(t, text, hostA), decoded(t, []byte(out), hostA)); diff != "" {
				t.Fatalf("%q became %q, and the rest is not as it was:\n%s", text, out, diff)
			}
			again, err := auth.EditCredentials([]byte(out), hostA, tok)
			if err != nil || string(again) != out {
				t.Fatalf("%q is not a stable form, it becomes %q: %v", out, again, err)
			}
		}
	})
}
