package cliconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/must"
)

// decoded is the type into which the CLI decodes a file with the HCL library.
type decoded struct {
	Credentials map[string]map[string]any                     `hcl:"credentials"`
	Hosts       map[string]*struct{ Services map[string]any } `hcl:"host"`
	Helpers     map[string]*struct{ Args []string }           `hcl:"credentials_helper"`
	MayBreak    bool                                          `hcl:"plugin_cache_may_break_dependency_lock_file"`
}

// decode returns false if the library refuses the file or panics.
func decode(src string) (d *decoded, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	d = &decoded{}
	return d, hcl.Decode(d, src) == nil
}

// summary lists the tokens and services of hosts. It returns false if the result of the
// library is random.
func (d *decoded) summary() (lines []string, ok bool) {
	seen := map[string]bool{}
	for label, block := range d.Credentials {
		host, err := svchost.Parse(label)
		if err != nil || seen["c"+host.String()] {
			return nil, false
		}
		seen["c"+host.String()] = true
		token, _ := block["token"].(string)
		lines = append(lines, fmt.Sprintf("token of %s: %q", host, token))
	}
	for label, block := range d.Hosts {
		host, err := svchost.Parse(label)
		if err != nil || seen["h"+host.String()] {
			return nil, false
		}
		seen["h"+host.String()] = true
		var ids []string
		for id := range block.Services {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		lines = append(lines, fmt.Sprintf("services of %s: %q", host, ids))
	}
	slices.Sort(lines)
	return lines, true
}

func summaryOf(t *testing.T, cfg *cliconfig.Config, d *decoded) (lines []string) {
	for label := range d.Credentials {
		host := svchost.MustParse(label)
		token, err := cfg.Credentials().Token(t.Context(), host)
		secret := token.Reveal()
		if err != nil { // an invalid token, which Credentials does not return
			secret, _ = d.Credentials[label]["token"].(string)
		}
		lines = append(lines, fmt.Sprintf("token of %s: %q", host, secret))
	}
	for host, services := range cfg.Discovery().Hosts.Overrides {
		ids := []string{}
		for _, id := range services.IDs() {
			ids = append(ids, string(id))
		}
		lines = append(lines, fmt.Sprintf("services of %s: %q", host, ids))
	}
	slices.Sort(lines)
	return lines
}

var decodeSeeds = []string{
	`credentials "a.test" { token = "x" } credentials "a.test" {}`,
	`credentials "a.test" { token = "x" token = "y" }`,
	`credentials a.test { token = "x" } CREDENTIALS { a.test { token = "y" } b.test { token = "z" } }`,
	`host a.test { services { x = "y" } services = { z = { a = [1, {}] } } } host a.test { services = { b = 1 } }`,
	`{"credentials": {"a.test": {"token": "x"}}, "credentials": {"b.test": {"token": "y"}}}`,
	`{"credentials": [{"a.test": {"token": "x"}}, {"a.test": {"token": "y", "z": {}}}], "host": [{"a.test": [{"services": [{"x": "y"}]}]}]}`,
	`{"credentials_helper": {"a": {"args": ["b"]}}, "plugin_cache_may_break_dependency_lock_file": true}`,
}

// TestDecode compares sources with repeated blocks and arguments.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, src := range decodeSeeds {
		if !compareDecoded(t, src, true) {
			t.Errorf("%q was not compared", src)
		}
	}
}

// FuzzDecode compares the content of a file with the content that the HCL library decodes.
func FuzzDecode(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.txt")
	for _, path := range paths {
		data := must.Get(os.ReadFile(path))(f)
		for part := range strings.SplitSeq(string(data), "\n-- ") {
			if name, text, ok := strings.Cut(part, " --\n"); ok && name != "want" {
				f.Add(text + "\n")
			}
		}
	}
	for _, src := range decodeSeeds {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) < 4096 && !strings.Contains(src, "\r") {
			compareDecoded(t, src, false)
		}
	})
}

// compareDecoded reports whether the source could be compared. It skips sources with
// repeated blocks unless twice is set: for these, the library makes a string of a number.
func compareDecoded(t *testing.T, src string, twice bool) bool {
	t.Helper()
	sys := cliconfig.System{GOOS: "linux", Home: "/h", Open: fakeFiles(map[string]string{"/h/.tofurc": src})}
	cfg, err := cliconfig.Load(sys)
	d, ok := decode(src)
	if err != nil || !ok {
		return false
	}
	repeats := func(p *cliconfig.Problem) bool { return strings.Contains(p.Message, "already") }
	want, ok := d.summary()
	if !ok || !twice && slices.ContainsFunc(cfg.Warnings(), repeats) {
		return false
	}
	if diff := cmp.Diff(want, summaryOf(t, cfg, d)); diff != "" {
		t.Errorf("%q: -library +here\n%s", src, diff)
	}
	if d.MayBreak != cfg.Installer("x").TrustCache {
		t.Errorf("%q: may break %v", src, d.MayBreak)
	}
	return true
}
