package auth_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestNetrc(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct{ Name, Text, User, Password string }](t, "netrc.txt") {
		user, password, ok := auth.ParseNetrc([]byte(tt.Text)).Lookup(hostA)
		if user != tt.User || password.Reveal() != tt.Password || !ok {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.Name, user, password.Reveal(), ok, tt.User, tt.Password)
		}
	}
}

// TestNetrcExactHost checks that Lookup returns passwords only for the exact host and port.
func TestNetrcExactHost(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "\n", "# machine a.test password pw", "default login d password d", "default password d port 443 protocol https",
		"machine test password pw", "machine x.a.test password pw", "machine a.test. password pw", "machine *.test password pw",
		"machine * password pw", `machine "" password pw`, `machine "" port 443 password pw`, "machine https://a.test password pw",
		"machine a.test/ password pw", "machine a.test:8443 password pw", "machine a.test:80 password pw",
		"machine a.test password pw port 8443", "machine a.test password pw port https", "machine a.test:8443 password pw port 443",
		"machine a.test password pw protocol http", "machine a.test password pw protocol ftp", "machine a.test login alice",
		"machine a.test", "macdef m\nmachine a.test password pw\n", "machine a.test login alice password", "machine a.test password pw port",
		"machine a.test password \"pw", "machine a.test password pw account \"x", "machine a.test login \"alice\npassword pw", "machine a.test password pw \"x",
		"machine \"a.test\npassword pw", "machine a.test machine \"b.test\npassword pw", "machine a.test default password pw",
	} {
		if user, password, ok := auth.ParseNetrc([]byte(text)).Lookup(hostA); ok || user != "" || password.Reveal() != "" {
			t.Errorf("%q: %q, %q", text, user, password.Reveal())
		}
	}
	n := auth.ParseNetrc([]byte("machine b.test:8443 password one machine xn--caf-dma.test password two machine c.test port 8443 password three"))
	for host, want := range map[string]string{
		"b.test:8443": "one", "b.test": "", "café.test": "two", "c.test:8443": "three", "c.test": "", "": "",
	} {
		h, _ := svchost.Parse(host)
		if _, password, ok := n.Lookup(h); password.Reveal() != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", host, password.Reveal(), ok)
		}
	}
	var none *auth.Netrc
	for _, n := range []*auth.Netrc{none, {}} {
		if _, _, ok := n.Lookup(hostA); ok {
			t.Error("an empty Netrc has an entry")
		}
	}
}

// TestNetrcLikePrograms: curl and git send what Lookup returns.
func TestNetrcLikePrograms(t *testing.T) {
	t.Parallel()
	var sent sync.Map // the last credentials by path
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		sent.Store(strings.Split(r.URL.Path, "/")[1], fmt.Sprintf("%q %q %v", user, password, ok))
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	host := must.Get(svchost.FromWire("127.0.0.1"))(t)
	for name, text := range casetest.Pairs(t, "netrc-programs.txt") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer(" h ", " 127.0.0.1 ", `"h"`, `"127.0.0.1"`, "\th\r", "\t127.0.0.1\r").Replace(text)
			home := t.TempDir()
			for _, name := range []string{".netrc", "_netrc"} {
				must.Do(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
			}
			user, password, ok := auth.ParseNetrc([]byte(text)).Lookup(host)
			want := fmt.Sprintf("%q %q %v", user, password.Reveal(), ok)
			for _, args := range [][]string{
				{"curl", "-q", "-s", "-n"},
				{"git", "-c", "credential.helper=", "ls-remote"}, // asks again after 401
			} {
				if _, err := exec.LookPath(args[0]); err != nil {
					t.Skipf("skipped: %s is not installed", args[0])
				}
				path := args[0] + strings.ReplaceAll(name, " ", "")
				cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], server.URL+"/"+path)...)
				cmd.Env = append(os.Environ(), "HOME="+home, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME="+home, "NO_PROXY=*")
				out, err := cmd.CombinedOutput() // git fails, as it must
				if got, _ := sent.Load(path); got != want {
					t.Errorf("%s sent %v, want %s (%v, %s)", args[0], got, want, err, out)
				}
			}
		})
	}
}

func TestLoadNetrc(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	path := filepath.Join(t.TempDir(), ".netrc")
	if n, err := auth.LoadNetrc(path); n == nil || err != nil {
		t.Errorf("a missing file: %v, %v", n, err)
	}
	text := []byte("machine a.test login alice password pw")
	text = append(text, bytes.Repeat([]byte("\n"), limit-len(text))...)
	load := func(text []byte) (*auth.Netrc, error) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		return auth.LoadNetrc(path)
	}
	n := must.Get(load(text))(t)
	if _, password, ok := n.Lookup(hostA); password.Reveal() != "pw" || !ok {
		t.Errorf("%q, %v", password.Reveal(), ok)
	}
	if n, err := load(append(text, '\n')); n != nil || !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("one byte more: %v, %v", n, err)
	}
	for _, path := range []string{filepath.Dir(path), ""} {
		if n, err := auth.LoadNetrc(path); n != nil || err == nil {
			t.Errorf("LoadNetrc(%q) = %v, %v", path, n, err)
		}
	}
}

// FuzzNetrc checks that a text does not panic, does not change earlier entries, and has no
// password for a host that it does not contain.
func FuzzNetrc(f *testing.F) {
	for _, text := range []string{
		"", "machine a.test login alice password pw", "default login d password d", "# c\nmachine x # y", "macdef m\n\n", "\"", "machine \"\\",
		"machine a.test port 1 protocol x account y", "password x", "machine b.test passwd \"#\" #", "\r\n\t \x00",
	} {
		f.Add([]byte(text), `p"w\`)
	}
	nowhere := svchost.MustParse("nowhere.invalid")
	f.Fuzz(func(t *testing.T, text []byte, password string) {
		n := auth.ParseNetrc(text)
		if _, _, ok := n.Lookup(nowhere); ok && !bytes.Contains(bytes.ToLower(text), []byte("nowhere")) {
			t.Fatalf("%q has a password for a host that it does not name", text)
		}
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(password)
		n = auth.ParseNetrc(append([]byte(`machine a.test password "`+quoted+"\"\nmachine b.test "), text...))
		if _, got, ok := n.Lookup(hostA); !ok || got.Reveal() != password {
			t.Fatalf("password %q became %q, %v", password, got.Reveal(), ok)
		}
	})
}
