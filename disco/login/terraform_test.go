package login_test

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestRealClient compares the requests and credentials files of the CLI and of this package.
func TestRealClient(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skipf("skipped: on %s the CLI does not take its certificates from SSL_CERT_FILE, or opens a real browser", runtime.GOOS)
	}
	terraformtest.Each(t, realClient)
}

func realClient(t *testing.T, program string) {
	reg := registry(regtest.Login{ClientID: "cli", Scopes: []string{"a", "b"}, MinPort: 20000, MaxPort: 29999, ExpiresIn: 1e12})
	srv := must.Get(reg.ServeTLS())(t)
	defer srv.Close()
	p, local := terraformtest.New(t, program), svchost.MustParse(srv.Addr)
	loginByCLI(t, p, srv)
	theirs := auth.CredentialsFile{Path: filepath.Join(p.Dir, ".terraform.d", "credentials.tfrc.json")}
	if token, err := theirs.Token(t.Context(), local); err != nil || token.Reveal() != secret {
		t.Errorf("the CLI has stored %q, %v", token.Reveal(), err)
	}
	page, exchange := one(t, reg, regtest.LoginAuthz), one(t, reg, regtest.LoginToken)

	reg.Reset()
	ours := auth.CredentialsFile{Path: filepath.Join(t.TempDir(), "credentials.tfrc.json")}
	c := &login.Client{Transport: &transport.Settings{HTTP: srv.Client()}, Open: srv.Browse, Store: ours}
	must.Get(c.Login(t.Context(), local))(t)
	same(t, "page", page.Query, one(t, reg, regtest.LoginAuthz).Query)
	same(t, "exchange", exchange.Form.Encode(), one(t, reg, regtest.LoginToken).Form.Encode())
	if token, err := ours.Token(t.Context(), local); err != nil || token.Reveal() != secret {
		t.Errorf("we have stored %q, %v", token.Reveal(), err)
	}
}

// loginByCLI runs the login of the CLI, answers yes, and opens the URL that it prints.
func loginByCLI(t *testing.T, p *terraformtest.Project, srv *regtest.Server) {
	t.Helper()
	p.Trust(t, srv.CertPEM)
	p.Env = append(p.Env, "PATH="+t.TempDir())                                    // without a browser
	if err := os.Mkdir(filepath.Join(p.Dir, ".terraform.d"), 0o700); err != nil { // the CLI does not create it
		t.Fatal(err)
	}
	cmd := p.Command(t, "login", srv.Addr)
	cmd.Stdin = strings.NewReader("yes\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	var said strings.Builder
	var browsed error
	for lines := bufio.NewScanner(io.TeeReader(out, &said)); lines.Scan(); {
		if address := regexp.MustCompile(`https://\S+/oauth/authorization\?\S+`).FindString(lines.Text()); address != "" {
			browsed = srv.Browse(address) // may fail: the CLI closes the port while it sends its last page
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s login: %v\n%s%s\nbrowser: %v", p.Program, err, &said, &stderr, browsed)
	}
}

// same compares the parameters of two programs, except for random values.
func same(t *testing.T, what, theirs, ours string) {
	t.Helper()
	a, err1 := url.ParseQuery(theirs)
	b, err2 := url.ParseQuery(ours)
	if err1 != nil || err2 != nil || !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) {
		t.Errorf("%s: the CLI sends %v, we %v; %v, %v", what, a, b, err1, err2)
	}
	for name := range a {
		x, y := a.Get(name), b.Get(name)
		switch name {
		case "state", "code", "code_verifier", "code_challenge":
		case "redirect_uri":
			port := regexp.MustCompile(`:2\d{4}/`)
			if x, y = port.ReplaceAllString(x, ":PORT/"), port.ReplaceAllString(y, ":PORT/"); x != y {
				t.Errorf("%s: the CLI waits at %s, we at %s", what, x, y)
			}
		default:
			if x != y {
				t.Errorf("%s: the CLI sends %s=%q, we %q", what, name, x, y)
			}
		}
	}
}
