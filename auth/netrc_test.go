package auth_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/must"
)

func netrc(t testing.TB, text string) *auth.Netrc {
	t.Helper()
	n, err := auth.ParseNetrc([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return n
}

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
	} {
		user, password, ok := netrc(t, tt.text).Lookup(hostA)
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
		"machine a.test", "macdef m\nmachine a.test password pw\n",
	} {
		if user, password, ok := netrc(t, text).Lookup(hostA); ok || user != "" || password.Reveal() != "" {
			t.Errorf("%q: %q, %q", text, user, password.Reveal())
		}
	}
	n := netrc(t, "machine b.test:8443 password one machine xn--caf-dma.test password two machine c.test port 8443 password three")
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

func TestNetrcSyntax(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text         string
		line, column int
		reason       string
	}{
		{"machine", 1, 1, "missing value"},
		{"machine a.test\n login", 2, 2, "missing value"},
		{"machine a.test password\n", 1, 16, "missing value"},
		{"macdef", 1, 1, "missing value"},
		{"login alice", 1, 1, "expected the keyword machine first"},
		{"password " + secret, 1, 1, "expected the keyword machine first"},
		{"macdef m\n\npassword x", 3, 1, "expected the keyword machine first"},
		{"machine a.test password two " + secret, 1, 29, "needs double quotes"},
		{"machine a.test user " + secret, 1, 16, "expected a keyword such as machine or login"},
		{"machine login alice password " + secret, 1, 15, "expected a keyword such as machine or login"},
		{secret, 1, 1, "expected a keyword such as machine or login"},
		{"machine a.test password \"" + secret, 1, 25, "not closed in its line"},
		{"machine a.test password \"" + secret + "\n\"", 1, 25, "not closed in its line"},
		{"machine a.test password \"" + secret + "\\\n\"", 1, 25, "not closed in its line"},
		{"machine a.test password \"" + secret + "\\\"", 1, 25, "not closed in its line"},
		{"machine a.test password \"" + secret + "\\", 1, 25, "not closed in its line"},
		{"machine a.test password \"x\"" + secret, 1, 28, "expected a keyword such as machine or login"},
		{"\n\nmachine a.test \"" + secret, 3, 16, "not closed in its line"},
	} {
		n, err := auth.ParseNetrc([]byte(tt.text))
		if n != nil {
			t.Errorf("%q: a Netrc was returned beside the error", tt.text)
		}
		wantSyntaxError(t, err, "", tt.line, tt.column, tt.reason)
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
	if n, err := load([]byte("machine a.test\nlogin")); n != nil || err == nil || !strings.HasPrefix(err.Error(), path+":2:1: ") {
		t.Errorf("%v, %v", n, err)
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
		if n, err := auth.ParseNetrc(text); err != nil {
			var malformed *auth.SyntaxError
			if n != nil || !errors.As(err, &malformed) || malformed.Line < 1 || malformed.Column < 1 || malformed.Line > bytes.Count(text, []byte("\n"))+1 {
				t.Fatalf("%q: %v", text, err)
			}
		} else if _, _, ok := n.Lookup(nowhere); ok && !bytes.Contains(bytes.ToLower(text), []byte("nowhere")) {
			t.Fatalf("%q has a password for a host that it does not name", text)
		}
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(password)
		n, err := auth.ParseNetrc(append([]byte(`machine a.test password "`+quoted+"\"\nmachine b.test "), text...))
		if err != nil {
			return
		}
		if _, got, ok := n.Lookup(hostA); !ok || got.Reveal() != password {
			t.Fatalf("password %q became %q, %v", password, got.Reveal(), ok)
		}
	})
}
