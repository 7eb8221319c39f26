package cliconfig_test

import (
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/testkit/regtest"
)

var hostA, hostB, hostC = svchost.MustParse("a.test"), svchost.MustParse("b.test"), svchost.MustParse("c.test")

const secret = "s3cr3t-t0k3n"

// load returns the configuration of sys, which must be valid.
func load(t *testing.T, sys cliconfig.System) *cliconfig.Config {
	t.Helper()
	return must.Get(cliconfig.Load(t.Context(), sys))(t)
}

// storeOf returns the store for the token of host.
func storeOf(t *testing.T, cfg *cliconfig.Config, host svchost.Hostname) auth.Store {
	t.Helper()
	return must.Get(cfg.Store(host))(t)
}

// save stores secret as the token of host.
func save(t *testing.T, cfg *cliconfig.Config, host svchost.Hostname) {
	t.Helper()
	store, err := cfg.Store(host)
	if err == nil {
		err = store.Save(t.Context(), host, auth.MustNewToken(secret))
	}
	if err != nil {
		t.Error(err)
	}
}

// forget removes the token of host.
func forget(t *testing.T, cfg *cliconfig.Config, host svchost.Hostname) {
	t.Helper()
	must.Do(t, storeOf(t, cfg, host).Forget(t.Context(), host))
}

func wantToken(t *testing.T, cfg *cliconfig.Config, host svchost.Hostname, want string) {
	t.Helper()
	got, err := cfg.Credentials().Token(t.Context(), host)
	if err != nil || got.Reveal() != want {
		t.Errorf("token of %s: %q, %v; want %q", host, got.Reveal(), err, want)
	}
}

// TestTokensOfTheProgram adds tokens of the program before or after the user's tokens.
func TestTokensOfTheProgram(t *testing.T) {
	t.Parallel()
	ours := auth.MustNewToken("ours").For(hostA, hostB)
	for name, c := range map[string]struct {
		tokens  func(auth.Source) auth.Source
		a, b, c string
	}{
		"none":    {nil, "theirs", "", "theirs"},
		"behind":  {func(user auth.Source) auth.Source { return auth.Chain(user, ours) }, "theirs", "ours", "theirs"},
		"before":  {func(user auth.Source) auth.Source { return auth.Chain(ours, user) }, "ours", "ours", "theirs"},
		"instead": {func(auth.Source) auth.Source { return ours }, "ours", "ours", ""},
	} {
		calls := 0
		cfg := load(t, cliconfig.System{GOOS: "linux", Environ: []string{"TF_TOKEN_a_test=theirs", "TF_TOKEN_c_test=theirs"}})
		if c.tokens != nil {
			cfg.Tokens = func(user auth.Source) auth.Source { calls++; return c.tokens(user) }
		}
		for host, want := range map[svchost.Hostname]string{hostA: c.a, hostB: c.b, hostC: c.c} {
			wantToken(t, cfg, host, want)
			if got, err := cfg.Registry().Transport.Credentials.Token(t.Context(), host); err != nil || got.Reveal() != want {
				t.Errorf("%s: the registry client has %q for %s, %v; want %q", name, got.Reveal(), host, err, want)
			}
		}
		if want := min(len(c.b), 1); calls != want {
			t.Errorf("%s: Tokens was called %d times, want %d", name, calls, want)
		}
		if from, found, err := cfg.TokenOrigin(t.Context(), hostB); found || err != nil || from != (cliconfig.Place{}) {
			t.Errorf("%s: TokenOrigin of a token of the program: %v, %t, %v; want nothing", name, from, found, err)
		}
	}
}

// spy is a credentials helper that stores one token for all hosts in a file, and records its
// arguments.
const spy = `#!/bin/sh
echo "$@" >>"$SPY/asked"
case $2 in
get) [ -e "$SPY/kept" ] && cat "$SPY/kept" || echo '{}' ;;
store) cat >"$SPY/kept" ;;
forget) rm -f "$SPY/kept" ;;
esac
`

// TestHelper runs a real helper, with the environment of the System.
func TestHelper(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the helper is a shell script")
	}
	dir := t.TempDir()
	sys := home(t, map[string]string{
		".tofurc":                            "credentials_helper \"spy\" {\n  args = [\"--vault\"]\n}\n" + credentials("a.test", "from-block"),
		".terraform.d/credentials.tfrc.json": `{"credentials": {"c.test": {"token": "from-file"}}}`,
		".terraform.d/plugins/terraform-credentials-spy": spy,
	})
	sys.Environ = []string{"SPY=" + dir, "PATH=" + os.Getenv("PATH")}
	cfg := load(t, sys)
	wantToken(t, cfg, hostA, "from-block")
	wantToken(t, cfg, hostB, "")
	save(t, cfg, hostB)
	wantToken(t, cfg, hostB, secret)
	wantToken(t, cfg, hostB, secret) // cached
	from, found, err := cfg.TokenOrigin(t.Context(), hostB)
	if !found || err != nil || filepath.Base(from.File) != "terraform-credentials-spy" {
		t.Errorf("%v, %v, %v", from, found, err)
	}
	forget(t, cfg, hostB)
	wantToken(t, cfg, hostB, "")
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	want := "--vault get b.test\n--vault store b.test\n--vault get b.test\n--vault forget b.test\n--vault get b.test\n"
	if string(asked) != want || err != nil {
		t.Errorf("asked %q, %v", asked, err)
	}
	if err := storeOf(t, cfg, hostB).Save(t.Context(), hostA, auth.MustNewToken(secret)); err == nil {
		t.Error("the store took the token of another host")
	}
	// A token in credentials.tfrc.json is changed there.
	save(t, cfg, hostC)
	wantToken(t, cfg, hostC, secret)
	if from, _, err := cfg.TokenOrigin(t.Context(), hostC); err != nil || filepath.Base(from.File) != "credentials.tfrc.json" {
		t.Errorf("%v, %v", from, err)
	}
}

// TestStore saves and forgets tokens in the same file as the CLI.
func TestStore(t *testing.T) {
	t.Parallel()
	sys := home(t, map[string]string{".tofurc": credentials("a.test", "from-block")})
	sys.Environ = []string{"TF_TOKEN_c_test=from-variable"}
	cfg := load(t, sys)
	if _, err := cfg.Store(hostA); !errors.Is(err, cliconfig.ErrNotWritable) || !strings.Contains(err.Error(), native(".tofurc")+":1:13") {
		t.Errorf("%v", err)
	}
	save(t, cfg, hostB)
	save(t, cfg, hostC)
	wantToken(t, cfg, hostB, secret)
	wantToken(t, cfg, hostC, "from-variable")
	again := load(t, sys)
	wantToken(t, again, hostB, secret)
	forget(t, again, hostB)
	wantToken(t, again, hostB, "")
	wantToken(t, load(t, sys), hostB, "")
}

// TestStoreTwoFiles has hosts with entries in credentials.tfrc.json and in another file. The
// last file counts.
func TestStoreTwoFiles(t *testing.T) {
	t.Parallel()
	sys := home(t, map[string]string{
		".terraform.d/a.tfrc":                credentials("a.test", "from-earlier"),
		".terraform.d/credentials.tfrc.json": `{"credentials": {"a.test": {"token": "a"}, "b.test": {"token": "b"}}}`,
		".terraform.d/x.tfrc":                credentials("b.test", "from-later"),
	})
	cfg := load(t, sys)
	if _, err := cfg.Store(hostB); !errors.Is(err, cliconfig.ErrNotWritable) || !strings.Contains(err.Error(), "x.tfrc:1:13") {
		t.Errorf("overridden by a later file: %v", err)
	}
	store := storeOf(t, cfg, hostA)
	forget(t, cfg, hostA)
	must.Do(t, store.Save(t.Context(), hostA, auth.MustNewToken(secret)))
	wantToken(t, cfg, hostA, secret)
	forget(t, cfg, hostA)
	must.Do(t, store.Forget(t.Context(), hostA))
	for _, cfg := range []*cliconfig.Config{cfg, load(t, sys)} {
		wantToken(t, cfg, hostA, "from-earlier")
		if _, err := cfg.Store(hostA); !errors.Is(err, cliconfig.ErrNotWritable) || !strings.Contains(err.Error(), "a.tfrc:1:13") {
			t.Errorf("the token is in an earlier file: %v", err)
		}
	}
}

// TestNoSecret searches errors, warnings, logs and printed values for tokens.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	sys := home(t, map[string]string{
		".tofurc": credentials("a.test", secret) + "credentials_helper \"x\" {\n  args = [\"" + secret + "\"]\n}\n",
		".terraform.d/plugins/terraform-credentials-x": "",
		".terraform.d/x.tfrc":                          "credentials \"b.test\" {\n  token = \"" + secret + " " + secret + "\"\n  " + secret + " = 1\n}\n",
	})
	sys.Environ = []string{"TF_TOKEN_c_test=" + secret, "TF_TOKEN_d_test=" + secret + " " + secret}
	cfg := load(t, sys)
	reg := regtest.New("c.test")
	reg.Require("another", regtest.Versions)
	cfg.HTTP = reg.Client()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	store := storeOf(t, cfg, svchost.MustParse("e.test"))
	// Print before the first request, because requests write to these values.
	printed := ""
	for _, v := range []any{
		cfg, cfg.Credentials(), store, cfg.ProviderSource(), cfg.Registry(), cfg.Discovery(), cfg.Methods(),
		sys, &sys, []cliconfig.System{sys}, struct{ S cliconfig.System }{sys},
	} {
		printed += fmt.Sprintf("%v %+v %#v %s %q %d %t", v, v, v, v, v, v, v)
		for _, verb := range []string{"%x", "%X"} {
			if strings.Contains(strings.ToLower(fmt.Sprintf(verb, v)), fmt.Sprintf("%x", secret)) {
				t.Errorf("%s of %T prints a token", verb, v)
			}
		}
		slog.New(slog.NewTextHandler(&log, nil)).Info("loaded", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "v", v)
	}
	_, err := cfg.ProviderSource().ProviderVersions(t.Context(), addrs.MustParseProvider("c.test/acme/alpha"))
	if !errors.Is(err, failure.ErrUnauthorized) || log.Len() == 0 {
		t.Errorf("%v", err)
	}
	printed += fmt.Sprintln(err)
	printed += fmt.Sprintf("%+v %s", cfg.Warnings(), cfg.Credentials())
	for _, w := range cfg.Warnings() {
		printed += w.Error()
	}
	for _, host := range []svchost.Hostname{hostA, hostB, hostC, svchost.MustParse("d.test")} {
		from, _, err := cfg.TokenOrigin(t.Context(), host)
		printed += fmt.Sprint(from, err)
		_, err = cfg.Store(host)
		printed += fmt.Sprint(err)
	}
	if printed += log.String(); strings.Contains(printed, secret) {
		t.Errorf("a token was printed: %s", printed)
	}
	if !strings.Contains(printed, "TF_TOKEN_d_test") || !strings.Contains(printed, "x.tfrc") {
		t.Errorf("the places are missing: %s", printed)
	}
}

// TestConcurrent uses one Config from many goroutines.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	cfg := load(t, home(t, map[string]string{".tofurc": credentials("a.test", "from-block")}))
	webtest.Together(8, func(i int) {
		if i%2 == 0 {
			save(t, cfg, hostB)
		}
		use(t, cfg)
		wantToken(t, cfg, hostA, "from-block")
	})
	wantToken(t, cfg, hostB, secret)
}
