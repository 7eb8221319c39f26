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
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestNetrc(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text     string
		user, password string // of a.test
	}{
		{"one line", "machine a.test login alice password pw", "alice", "pw"},
		{"line breaks", "machine\ta.test\r\n\tlogin alice\r\n\n password\npw\r\n", "alice", "pw"},
		{"passwd", "machine a.test login alice passwd pw", "alice", "pw"},
		{"other order", "machine a.test password pw login alice", "alice", "pw"},
		{"case", "MACHINE A.Test LOGIN Alice Password pW", "Alice", "pW"},
		{"account", "machine a.test login alice account x password pw account y", "alice", "pw"},
		{"no login", "machine a.test password pw", "", "pw"},
		{"empty password", `machine a.test login alice password ""`, "alice", ""},
		{"the last of two passwords", "machine a.test password one password two", "", "two"},
		{"default port", "machine a.test:443 login alice password pw", "alice", "pw"},
		{"port", "machine a.test login alice password pw port 443", "alice", "pw"},
		{"protocol", "machine a.test login alice password pw protocol HTTPS", "alice", "pw"},
		{"the first of two entries", "machine a.test login alice password pw\nmachine A.TEST login bob password other", "alice", "pw"},
		{"after one that does not count", "machine a.test login bob\nmachine a.test login alice password pw", "alice", "pw"},
		{"among others", "machine b.test login b password b machine a.test login alice password pw machine c.test password c", "alice", "pw"},
		{"after the default", "default login d password d machine a.test login alice password pw", "alice", "pw"},
		{"keywords as values", "machine a.test login machine password login", "machine", "login"},

		{"quoted", `machine "a.test" login "al ice" password "p w"`, "al ice", "p w"},
		{"escapes", `machine a.test login a\b password "\"\\\n\r\t\x\é"`, `a\b`, "\"\\\n\r\txé"},
		{"quotes within", `machine a.test login al"ice password p"w"`, `al"ice`, `p"w"`},
		{"bytes", "machine a.test password \x80\x00\xff", "", "\x80\x00\xff"},

		{"comments", "# first\nmachine a.test # second\n#third login x\nlogin alice#x password #pw # password last\n#", "alice#x", "#pw"},
		{"comment at the end", "machine a.test login alice password pw #", "alice", "pw"},
		{"quoted comment sign", `machine a.test login "# x" password pw`, "# x", "pw"},

		{"macro", "machine a.test login alice password pw\nmacdef init\nmachine a.test login x\n\"\n\n", "alice", "pw"},
		{"macro first", "macdef m\nput #\r\n\r\nmachine a.test login alice password pw", "alice", "pw"},
		{"macro within", "machine a.test macdef m\n x\n\n login alice password pw", "alice", "pw"},
		{"macro without end", "machine a.test login alice password pw macdef m\nline", "alice", "pw"},

		{"unknown words", "machine a.test login alice method interactive password pw further", "alice", "pw"},
		{"unknown words of another host", "machine b.test method interactive login b password b\nmachine a.test login alice password pw", "alice", "pw"},
		{"unknown words first", "further login b machine a.test login alice password pw", "alice", "pw"},
		{"text after a quote", `machine a.test login alice password "pw"x`, "alice", "pw"},
		{"keywords before the first host", "login b password b machine a.test login alice password pw", "alice", "pw"},
		{"a machine named as a keyword", "machine login alice password b machine a.test login alice password pw", "alice", "pw"},
		{"after a quote of another host", "machine b.test password \"b\nmachine a.test login alice password pw", "alice", "pw"},
		{"after another host in an open quote", "machine \"b.test login b password b\nmachine a.test login alice password pw", "alice", "pw"},
		{"after a quote of the same host", "machine a.test login b password \"b\nmachine a.test login alice password pw", "alice", "pw"},
		{"before a quote of another host", "machine a.test login alice password pw\nmachine b.test password \"b", "alice", "pw"},
		{"before a missing value of another host", "machine a.test login alice password pw\nmachine b.test password", "alice", "pw"},
	} {
		user, password, ok := auth.ParseNetrc([]byte(tt.text)).Lookup(hostA)
		if user != tt.user || password.Reveal() != tt.password || !ok {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.name, user, password.Reveal(), ok, tt.user, tt.password)
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
	for name, text := range map[string]string{
		"plain":                      "machine h login alice password pw",
		"unknown words":              "machine h login alice method interactive password pw",
		"unknown words elsewhere":    "machine b.test method interactive login b password b\nmachine h login alice password pw",
		"unknown words first":        "further machine h login alice password pw",
		"more words":                 "machine h login alice password pw further words",
		"two words as password":      "machine h login alice password two words",
		"text after a quote":         `machine h login alice password "pw"x`,
		"keywords first":             "login b password b\nmachine h login alice password pw",
		"later quote":                "machine h login alice password pw\nmachine b.test password \"b",
		"quoted":                     `machine "h" login "al ice" password "p\"\\w"`,
		"comment":                    "machine h login alice # password b\n password pw",
		"other host":                 "machine b.test login alice password pw",
		"a machine named as keyword": "machine login alice password b\nmachine h login alice password pw",
		"first of two":               "machine h login alice password pw\nmachine h login b password b",
		"lines":                      "machine\th\r\nlogin alice\r\npassword pw\r\n",
	} {
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
