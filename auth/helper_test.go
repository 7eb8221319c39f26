package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// Tests with child processes use real time. The clock of a synctest bubble does not advance
// while a goroutine waits for a process or a pipe.

// helper returns a Helper that is this test program in the given role.
func helper(t testing.TB, role string, variables ...string) auth.Helper {
	t.Helper()
	// A program built with the race detector sleeps for a second at its end.
	env := slices.Concat(os.Environ(), []string{roleVariable + "=" + role, "GORACE=atexit_sleep_ms=0"}, variables)
	return auth.Helper{Path: must.Get(os.Executable())(t), Env: func() []string { return env }}
}

func saying(t testing.TB, stdout, stderr, code string) auth.Helper {
	t.Helper()
	return helper(t, "say", outVariable+"="+stdout, errVariable+"="+stderr, exitVariable+"="+code)
}

// wantHelperError checks that err is the error of a helper whose text has these parts and
// no secret.
func wantHelperError(t *testing.T, err error, verb string, parts ...string) {
	t.Helper()
	var source *auth.SourceError
	if !errors.As(err, &source) {
		t.Fatalf("error %v, want a *SourceError", err)
	}
	if source.Host != hostA || !strings.HasPrefix(source.Err.Error(), verb+": ") {
		t.Errorf("the error is about %s: %v, want %s and %s", source.Host, source.Err, hostA, verb)
	}
	if !strings.HasPrefix(err.Error(), "token for a.test: credentials helper \"") {
		t.Errorf("error %q", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	wantNoLeak(t, err)
}

// wantNoLeak searches all printed forms of err for the secret.
func wantNoLeak(t *testing.T, err error) {
	t.Helper()
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err)
	for e := err; e != nil; e = errors.Unwrap(e) {
		out, _ := json.Marshal(e)
		fmt.Fprintf(&log, "%s\n%v\n%+v\n%#v\n%q\n", out, e, e, e, e)
	}
	if leaks(log.String()) {
		t.Errorf("the error shows the secret: %s", log.String())
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
		t.Errorf("the error has control characters: %q", err)
	}
}

func TestHelperAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct{ Name, Answer, Token, Reason string }](t, "helper-answers.txt") {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			tok, err := saying(t, tt.Answer, "I wrote "+secret, "0").Token(t.Context(), hostA)
			if tok.Reveal() != tt.Token || (err == nil) != (tt.Reason == "") {
				t.Errorf("token %q, %v; want %q", tok.Reveal(), err, tt.Token)
			}
			if err == nil {
				return
			}
			wantHelperError(t, err, "get", tt.Reason)
			if strings.Contains(err.Error(), "31337") {
				t.Errorf("the error repeats the answer: %v", err)
			}
		})
	}
	_, err := saying(t, `{"token":"two words"}`, "", "0").Token(t.Context(), hostA)
	if !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("an invalid token: %v, want ErrInvalidToken", err)
	}
}

func TestHelperExitStatus(t *testing.T) {
	t.Parallel()
	answer := `{"token":"` + secret + `"}`
	_, err := saying(t, answer, "the vault\n\x1b[31mis sealed\r\n", "3").Token(t.Context(), hostA)
	wantHelperError(t, err, "get", "get: exit status 3: the vault \uFFFD[31mis sealed")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v lacks the exit status 3", err)
	}
	_, err = saying(t, answer, "", "1").Token(t.Context(), hostA)
	if wantHelperError(t, err, "get"); !strings.HasSuffix(err.Error(), "get: exit status 1") {
		t.Errorf("%q", err)
	}
	_, err = saying(t, answer, "debug: "+secret+" sent", "1").Token(t.Context(), hostA)
	wantHelperError(t, err, "get", "debug: [redacted] sent")
}

func TestHelperCommandLine(t *testing.T) {
	t.Parallel()
	host := svchost.MustParse("Café.example:8443")
	legal := `a<b>&"'\` // characters that JSON encoders escape
	for verb, call := range map[string]func(auth.Helper) error{
		"get":    func(h auth.Helper) error { _, err := h.Token(t.Context(), host); return err },
		"store":  func(h auth.Helper) error { return h.Save(t.Context(), host, auth.MustNewToken(legal)) },
		"forget": func(h auth.Helper) error { return h.Forget(t.Context(), host) },
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "recording")
			spy := helper(t, "record", fileVariable+"="+path, outVariable+"=mine")
			spy.Args = []string{"--vault", "a b", ""}
			must.Do(t, call(spy))
			out := must.Get(os.ReadFile(path))(t)
			var got recording
			must.Do(t, json.Unmarshal(out, &got))
			expect := recording{Args: []string{"--vault", "a b", "", verb, "xn--caf-dma.example:8443"}, Env: "mine"}
			if verb == "store" {
				expect.Input = `{"token":"a<b>&\"'\\"}`
			}
			if diff := cmp.Diff(expect, got); diff != "" {
				t.Errorf("what the helper saw (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHelperInheritsEnvironment(t *testing.T) {
	// t.Setenv changes the environment of this process, so the test is not parallel.
	path := filepath.Join(t.TempDir(), "recording")
	t.Setenv(roleVariable, "record")
	t.Setenv(fileVariable, path)
	spy := helper(t, "")
	spy.Env = nil
	want(t, spy, hostA, "")
	if !exists(path) {
		t.Error("the helper did not see the environment of this process")
	}
}

func TestHelperRefusesToRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "recording")
	spy := helper(t, "record", fileVariable+"="+path)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := spy.Token(cancelled, hostA); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	want(t, spy, svchost.Hostname{}, "")
	for name, err := range map[string]error{
		"no host":   spy.Save(t.Context(), svchost.Hostname{}, auth.MustNewToken(secret)),
		"no host 2": spy.Forget(t.Context(), svchost.Hostname{}),
		"no token":  spy.Save(t.Context(), hostA, auth.Token{}),
	} {
		if !errors.As(err, new(*auth.SourceError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := spy.Save(t.Context(), hostA, auth.Token{}); !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("saving no token: %v", err)
	}
	if exists(path) {
		t.Error("the helper was run")
	}
	for _, program := range []string{"", "helper", "./helper", filepath.Join("..", "helper")} {
		_, err := auth.Helper{Path: program}.Token(t.Context(), hostA)
		wantHelperError(t, err, "get", "its path is not absolute")
	}
	_, err := auth.Helper{Path: filepath.Join(dir, "none")}.Token(t.Context(), hostA)
	if wantHelperError(t, err, "get"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing program: %v", err)
	}
	wantHelperError(t, auth.Helper{Path: dir}.Save(t.Context(), hostA, auth.MustNewToken(secret)), "store")
}

func TestHelperBlurtsTheToken(t *testing.T) {
	t.Parallel()
	err := helper(t, "blurt").Save(t.Context(), hostA, auth.MustNewToken(secret))
	wantHelperError(t, err, "store", "exit status 1: cannot keep", "[redacted]")
}

func TestHelperPrintsNoMoreThanItsPath(t *testing.T) {
	t.Parallel()
	h := auth.Helper{Path: "/opt/helper", Args: []string{"--pin=" + secret}}
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got := fmt.Sprintf(format, h); got != `credentials helper "/opt/helper"` {
			t.Errorf("%s: %q", format, got)
		}
	}
}
