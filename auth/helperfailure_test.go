package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/must"
)

func TestHelperTimeout(t *testing.T) {
	t.Parallel()
	slow := helper(t, "hang", fileVariable+"="+filepath.Join(t.TempDir(), "lock"))
	slow.Timeout = 100 * time.Millisecond
	for verb, call := range map[string]func() error{
		"get":    func() error { _, err := slow.Token(t.Context(), hostA); return err },
		"store":  func() error { return slow.Save(t.Context(), hostA, auth.MustNewToken(strings.Repeat(secret, 10_000))) },
		"forget": func() error { return slow.Forget(t.Context(), hostA) },
	} {
		err := call()
		if wantHelperError(t, err, verb, "no answer within 100ms"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want DeadlineExceeded", err)
		}
	}
	// Without a timeout, the context limits the call.
	slow.Timeout = -1
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := slow.Token(ctx, hostA)
	if wantHelperError(t, err, "get"); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "no answer") {
		t.Errorf("the context's deadline: %v", err)
	}
}

func TestHelperDoesNotReadItsInput(t *testing.T) {
	t.Parallel()
	long := auth.MustNewToken(strings.Repeat("x", 1<<20)) // more than a pipe holds
	if err := saying(t, "", "", "0").Save(t.Context(), hostA, long); err != nil {
		t.Errorf("exit status 0: %v", err)
	}
	wantHelperError(t, saying(t, "", "no", "1").Save(t.Context(), hostA, long), "store", "exit status 1: no")
}

func TestHelperOutputLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for _, role := range []string{"pad", "pad stderr"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			want(t, helper(t, role, fmt.Sprint(padVariable, "=", limit)), hostA, "x")
			_, err := helper(t, role, fmt.Sprint(padVariable, "=", limit+1)).Token(t.Context(), hostA)
			if wantHelperError(t, err, "get", "output of more than 1048576 bytes"); !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("one byte more: %v", err)
			}
		})
	}
	for _, role := range []string{"flood", "flood stderr"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			err := helper(t, role).Forget(t.Context(), hostA)
			wantHelperError(t, err, "forget", "output of more than 1048576 bytes")
			if !errors.Is(err, failure.ErrTooLarge) || errors.Is(err, context.Canceled) || len(err.Error()) > 1000 {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestHelperLeavesNoChild lets helpers fail while a child process holds a lock. Acquiring
// the lock then shows that the process has ended.
func TestHelperLeavesNoChild(t *testing.T) {
	t.Parallel()
	answer := outVariable + `={"token":"` + secret + `"}`
	for _, tt := range []struct {
		name, role string
		variables  []string
		cancel     bool // when the lock is held
		want       string
	}{
		{"hangs", "hang", nil, true, "context canceled"},
		{"child and both hang", "fork and hang", nil, true, "context canceled"},
		{"child keeps the output", "fork", []string{answer}, false, "keeps its output open"},
		{"child keeps the output until cancelled", "fork", []string{answer}, true, "context canceled"},
		{"child keeps the output of a failure", "fork", []string{answer, exitVariable + "=2"}, false, "exit status 2"},
		{"child behind a failure", "fork quietly", []string{answer, exitVariable + "=2"}, false, "exit status 2"},
		{"child behind garbage", "fork quietly", []string{outVariable + "=" + secret}, false, "not a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lock := filepath.Join(t.TempDir(), "lock")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.cancel {
				go cancelWhen(ctx, lock+".ready", cancel)
			}
			start := time.Now()
			_, err := helper(t, tt.role, append(tt.variables, fileVariable+"="+lock)...).Token(ctx, hostA)
			wantHelperError(t, err, "get", tt.want)
			if tt.cancel && (!errors.Is(err, context.Canceled) || !errors.Is(err, errBroken)) {
				t.Errorf("the error lacks the context's error or its cause: %v", err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if !exists(lock + ".ready") {
				t.Fatal("the child process did not start in time")
			}
			wantGone(t, lock)
		})
	}
}

// FuzzHelperAnswer checks that answers do not panic, are decoded as encoding/json does, and
// do not appear in errors.
func FuzzHelperAnswer(f *testing.F) {
	for _, text := range []string{
		"", `{"n":1e999,"token":"x"}`, "null", "{}", "[]", "7", `"x"`, `{"token":"x"}`, `{"token":null}`, `{"token":""}`, `{"token":7}`, `{"token":"a b"}`, `{"token":"x"}{}`,
		`{"Token":"x"}`, `{"\u0074oken":"\u0078","token":"y"}`, "{\"token\":\"\xff\"}", `{"token":{"token":"x"}}`, strings.Repeat(`{"a":`, 100),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := auth.ReadAnswer(text)
		var members map[string]any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber() // 1e999 is too large for a float64
		decoded := dec.Decode(&members)
		if decoded == nil && !json.Valid(text) {
			decoded = errors.New("something follows")
		}
		secret, isString := members["token"].(string)
		switch {
		case err != nil && !got.IsZero():
			t.Fatalf("%q: a token beside the error %v", text, err)
		case err != nil && len(secret) > 15 && strings.Contains(err.Error(), secret):
			t.Fatalf("%q: the error %v shows the token", text, err)
		case err == nil && (decoded != nil || got.Reveal() != secret || !isString && members["token"] != nil):
			t.Fatalf("%q: token %q, want %q; %v", text, got.Reveal(), secret, decoded)
		}
	})
}

// cancelWhen calls cancel when a file exists.
func cancelWhen(ctx context.Context, path string, cancel context.CancelCauseFunc) {
	for ctx.Err() == nil && !exists(path) {
		time.Sleep(time.Millisecond)
	}
	cancel(errBroken)
}

// wantGone checks that the process with the lock has ended, or ends soon.
func wantGone(t *testing.T, lock string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	l, err := fsx.AcquireLock(ctx, lock)
	if err != nil {
		t.Fatalf("a process still has the lock: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// TestHelperDaemon checks that a child process of a successful helper is not killed if it
// closes the output.
func TestHelperDaemon(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "lock")
	agent := helper(t, "fork quietly", outVariable+`={"token":"`+secret+`"}`, fileVariable+"="+lock)
	want(t, agent, hostA, secret)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := fsx.AcquireLock(ctx, lock); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the child process has ended: %v", err)
	}
	stop(t, lock)
}

// TestHelperChildEscapes checks that the call does not wait for a child process in another
// process group.
func TestHelperChildEscapes(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "lock")
	_, err := helper(t, "fork away", outVariable+`={"token":"`+secret+`"}`, fileVariable+"="+lock).Token(t.Context(), hostA)
	wantHelperError(t, err, "get", "keeps its output open")
	stop(t, lock)
}

// stop ends the process with a lock.
func stop(t *testing.T, lock string) {
	t.Helper()
	must.Do(t, os.WriteFile(lock+".stop", nil, 0o600))
	wantGone(t, lock)
}
