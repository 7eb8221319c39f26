package auth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// The variables that make this test program a helper, or another process of a test.
const (
	roleVariable = "TOFUREG_TEST_ROLE"
	fileVariable = "TOFUREG_TEST_FILE"
	outVariable  = "TOFUREG_TEST_OUT"
	errVariable  = "TOFUREG_TEST_ERR"
	exitVariable = "TOFUREG_TEST_EXIT"
	padVariable  = "TOFUREG_TEST_PAD"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if len(os.Args) == 4 && os.Args[1] == "-vault=work" {
		role = "demo" // for the examples, which set no variables
	}
	if role == "" && (len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.")) {
		os.Exit(m.Run())
	}
	// A helper without a role must not run the tests: they would start helpers forever.
	if err := play(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play is the main function of the other processes.
func play(role string) error {
	switch role {
	case "say":
		return say()
	case "record":
		return record()
	case "demo":
		fmt.Println(`{"token":"from-the-vault"}`)
	case "pad": // to a number of bytes
		return pad(os.Stdout)
	case "pad stderr":
		if err := pad(os.Stderr); err != nil {
			return err
		}
		fmt.Println(`{"token":"x"}`)
	case "flood":
		return flood(os.Stdout)
	case "flood stderr":
		return flood(os.Stderr)
	case "hang", "hold":
		hold()
	case "fork", "fork and hang", "fork quietly", "fork away":
		return fork(role)
	case "blurt": // prints its input in several encodings
		input, _ := io.ReadAll(os.Stdin)
		var told struct{ Token string }
		_ = json.Unmarshal(input, &told)
		fmt.Fprintf(os.Stderr, "cannot keep %s\nAuthorization: Bearer %s\n%q\n", input, told.Token, told.Token)
		os.Exit(1)
	case "save":
		return saveMany(os.Getenv(fileVariable), os.Getenv(outVariable))
	default:
		return fmt.Errorf("unknown role %q", role)
	}
	return nil
}

// say writes outputs and exits with a status, all from variables.
func say() error {
	fmt.Print(os.Getenv(outVariable))
	fmt.Fprint(os.Stderr, os.Getenv(errVariable))
	code, _ := strconv.Atoi(os.Getenv(exitVariable))
	os.Exit(code)
	return nil
}

// A recording is the input of a helper.
type recording struct {
	Args  []string
	Input string
	Env   string
}

func record() error {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	seen, err := json.Marshal(recording{os.Args[1:], string(input), os.Getenv(outVariable)})
	if err != nil {
		return err
	}
	fmt.Println("{}")
	return os.WriteFile(os.Getenv(fileVariable), seen, 0o600)
}

func pad(w io.Writer) error {
	n, err := strconv.Atoi(os.Getenv(padVariable))
	if err != nil {
		return err
	}
	const answer = `{"token":"x"}`
	_, err = io.WriteString(w, answer+strings.Repeat(" ", n-len(answer)))
	return err
}

func flood(w io.Writer) error {
	line := []byte(secret + " once more\n")
	for {
		if _, err := w.Write(bytes.Repeat(line, 1000)); err != nil {
			return err
		}
	}
}

// hold acquires a lock, which the system releases when this process ends, and then creates a
// file ".ready". It returns when a file ".stop" exists, or after a minute.
func hold() {
	path := os.Getenv(fileVariable)
	if _, err := fsx.AcquireLock(context.Background(), path); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path+".ready", nil, 0o600); err != nil {
		panic(err)
	}
	for range 6000 {
		if exists(path + ".stop") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// fork starts a process with role "hold" and waits until it has the lock.
func fork(how string) error {
	child := exec.Command(os.Args[0], "hold")
	child.Env = append(os.Environ(), roleVariable+"=hold")
	if how != "fork quietly" {
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
	}
	if how == "fork away" {
		leaveGroup(child)
	}
	if err := child.Start(); err != nil {
		return err
	}
	for !exists(os.Getenv(fileVariable) + ".ready") {
		time.Sleep(time.Millisecond)
	}
	if how == "fork and hang" {
		time.Sleep(time.Minute)
	}
	return say()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// saveMany saves ten tokens in a credentials file.
func saveMany(path, prefix string) error {
	file := auth.CredentialsFile{Path: path}
	for i := range 10 {
		host, token := svchost.MustParse(fmt.Sprintf("%s-%d.test", prefix, i)), auth.MustNewToken(fmt.Sprintf("token-%s-%d", prefix, i))
		if err := file.Save(context.Background(), host, token); err != nil {
			return err
		}
	}
	return nil
}

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
		if wantHelperError(t, err, verb, "no answer within 100ms"); !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want os.ErrDeadlineExceeded: the context has not ended", err)
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
	must.Do(t, l.Release())
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

func TestCleanStderr(t *testing.T) {
	t.Parallel()
	none := auth.Token{}
	const short = "abcd-efgh" // does not look like a secret
	answer := `{"token":"` + short + `"}`
	for _, tt := range []struct {
		name, stderr string
		token        auth.Token
		answer, want string
	}{
		{"nothing", "", none, "", ""},
		{"one line", "a\tb\r\n\n  c\n", none, "", "a b c"},
		{"control characters", "\x1b[2Jx\x00\u202ey\xff", none, "", "\uFFFD[2Jx\uFFFD\uFFFDy\uFFFD"},
		{"plain words", "invalid token: permission denied; see https://example.com/help", none, "",
			"invalid token: permission denied; see https://example.com/help"},
		{"names and versions", "terraform-credentials-vault 1.2.3-beta1+linux in /usr/lib/python3/x1 of registry-2.eu.example.com", none, "",
			"terraform-credentials-vault 1.2.3-beta1+linux in /usr/lib/python3/x1 of registry-2.eu.example.com"},
		{"token it was told", "got " + short + "!", auth.MustNewToken(short), "", "got [redacted]!"},
		{"token it answered", "got '" + short + "'", none, answer, "got '[redacted]'"},
		{"token with a line break", "got ab\ncd", none, `{"token":"ab\ncd"}`, "got [redacted]"},
		{"escaped for JSON", `got "\u003cab\u003e" or "a\"<b"`, auth.MustNewToken(`<ab>`), "", `got "[redacted]" or "a\"<b"`},
		{"escaped for a URL", "got %26a%3Db", auth.MustNewToken("&a=b"), "", "got [redacted]"},
		{"in base64", "got " + base64.StdEncoding.EncodeToString([]byte(short)), auth.MustNewToken(short), "", "got [redacted]"},
		{"cut off", "got abcd-e", auth.MustNewToken(short), "", "got [redacted]"},
		{"too short to matter", "got abc", auth.MustNewToken("abc"), "", "got abc"},
		{"word of another answer", "secretly hunter2hunter2", none, "hunter2hunter2 secretly", "secretly [redacted]"},
		{"unknown, random", "for s3cr3t-T0ken.value and 0123456789abcdef0123456789abcdef", none, "", "for [redacted] and [redacted]"},
		{"header", "> Authorization: Basic YWxpY2U6cGFzcw==", none, "", "> Authorization: Basic [redacted]"},
		{"bearer", "sent bearer abcdef123", none, "", "sent bearer [redacted]"},
		{"named", `VAULT_TOKEN=abcdef123 "password": "hunter2hunter2" api-key x`, none, "",
			`VAULT_TOKEN=[redacted] "password": "[redacted]" api-key x`},
		{"URL", "GET https://alice:pass@vault.test/v1?token=x#y failed", none, "", "GET https://vault.test/v1?... failed"},
		{"URL with a bad host", "GET https://al ice:pass@vault.test", none, "", "GET https://al ice:pass@vault.test"},
	} {
		if got := auth.CleanStderr(tt.stderr, false, tt.token, tt.answer); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCleanStderrLength(t *testing.T) {
	t.Parallel()
	const limit = 512
	for _, filler := range []string{"a", "é", "€", "😀"} {
		for n := limit - 8; n <= limit+8; n++ {
			text := strings.Repeat("x", n%5) + strings.Repeat(filler, n/len(filler)) + "THE END"
			got := auth.CleanStderr(text, false, auth.Token{}, "")
			if len(got) > limit || !utf8.ValidString(got) || len(got) < limit-10 || !strings.HasSuffix(got, "THE END") {
				t.Errorf("%d bytes of %q became %d: %q", len(text), filler, len(got), got)
			}
			if len(text) <= limit && got != text {
				t.Errorf("%q was changed to %q", text, got)
			}
		}
	}
	if got := auth.CleanStderr("one two thr", true, auth.Token{}, ""); got != "one two" {
		t.Errorf("with an incomplete last word: %q, want it removed", got)
	}
}

// FuzzComplaint checks that error outputs do not panic, do not show the token, and become one
// line.
func FuzzComplaint(f *testing.F) {
	for _, s := range []string{"", secret, "x" + secret[:9], "Authorization: Bearer ", "://@?#", "\xff\u2028", strings.Repeat("€", 400)} {
		f.Add(s, secret, "")
		f.Add(s, secret, `{"token":"`+secret+`"}`)
	}
	f.Fuzz(func(t *testing.T, stderr, told, answer string) {
		tok, err := auth.NewToken(told)
		if err != nil {
			return
		}
		got := auth.CleanStderr(stderr, false, tok, answer)
		if len(got) > 512 || strings.ContainsAny(got, "\n\r\x1b\x00") || !utf8.ValidString(got) {
			t.Fatalf("unfit: %q", got)
		}
		if len(told) > len("[redacted] ... ") && strings.Contains(got, told) {
			t.Fatalf("%q shows %q", got, told)
		}
	})
}
