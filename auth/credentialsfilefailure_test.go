package auth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/must"
)

func TestCredentialsFileMalformed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		line   int
		column int
		reason string
	}{
		{`{"credentials":`, 1, 15, "invalid JSON"},
		{"{\n \"credentials\": {\n  \"a.test\": {\"token\": " + secret + "}}}", 3, 23, "invalid JSON"},
		{"{\n \"credentials\": {}\n} x", 3, 3, "invalid JSON"},
		{`{"credentials": {'a.test': {}}}`, 1, 18, "invalid JSON"},
		{"\ufeff{}", 1, 1, "invalid JSON"},
		{"{\"x\": \"\n\"}", 1, 8, "invalid JSON"},
		{strings.Repeat("[", 20_000), 1, 10001, "invalid JSON"},
		{`null`, 1, 1, "not a JSON object"},
		{"\n [\"credentials\"]", 2, 2, "not a JSON object"},
		{`{"credentials": null}`, 1, 17, "not a JSON object"},
		{`{"credentials": [{"a.test": {"token": "x"}}]}`, 1, 17, "not a JSON object"},
		{"{\"credentials\": {},\n\"credential\\u0073\": {}}", 2, 21, `a second "credentials"`},
	} {
		file := credentials(t, tt.text)
		for _, err := range attempts(t, file) {
			wantSyntaxError(t, err, file.Path, tt.line, tt.column, tt.reason)
		}
		wantFile(t, file.Path, tt.text)
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
