package cliconfig_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
)

var update = flag.Bool("update", false, "write the reports into testdata")

// A testCase is a file of testdata: lines NAME: VALUE, then the files of the system, each
// after a line "-- PATH --", then the expected report of the configuration.
type testCase struct {
	system    cliconfig.System
	hosts     []svchost.Hostname
	providers []addrs.Provider
	oci       bool // report the credentials for OCI registries
	files     map[string]string
	want      string
}

func parseCase(t *testing.T, text string) *testCase {
	t.Helper()
	head, rest, _ := strings.Cut(text, "-- ")
	c := &testCase{files: map[string]string{}}
	c.system = cliconfig.System{GOOS: "linux", GOARCH: "amd64", Home: "/home/alice", Dir: "/project"}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "os":
			if c.system.GOOS = value; value == "windows" {
				c.system.Home, c.system.Dir = `C:\Users\alice`, `C:\work`
			}
		case "terraform":
			c.system.Terraform = true
		case "home":
			c.system.Home = value
		case "dir":
			c.system.Dir = value
		case "env":
			c.system.Environ = append(c.system.Environ, value)
		case "host":
			c.hosts = append(c.hosts, svchost.MustParse(value))
		case "provider":
			c.providers = append(c.providers, addrs.MustParseProvider(value))
		case "oci":
			c.oci = true
		case "":
		default:
			if !strings.HasPrefix(key, "#") {
				t.Fatalf("unknown line %q", line)
			}
		}
	}
	for rest != "" {
		name, content, ok := strings.Cut(rest, " --\n")
		if !ok {
			t.Fatalf("bad section %q", rest)
		}
		content, rest, _ = strings.Cut("\n"+content, "\n-- ")
		content = strings.TrimPrefix(content+"\n", "\n")
		if name == "want" {
			c.want = strings.TrimSuffix(content, "\n")
			break
		}
		c.files[name] = content
	}
	c.system.Open = fakeFiles(c.files)
	return c
}

// fakeFiles returns System.Open for these files. Paths can have either separator.
func fakeFiles(files map[string]string) func(string) (fs.File, error) {
	inside := func(name string) string {
		name = strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/")
		if name == "" {
			return "."
		}
		return name
	}
	fsys := fstest.MapFS{}
	for name, content := range files {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			fsys[inside(dir)] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			continue
		}
		fsys[inside(name)] = &fstest.MapFile{Data: []byte(content)}
	}
	return func(name string) (fs.File, error) {
		f, err := fsys.Open(inside(name))
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errors.Unwrap(err)}
		}
		return f, nil
	}
}

// report loads the configuration and lists its content.
func (c *testCase) report(t *testing.T) string {
	var b strings.Builder
	cfg, err := cliconfig.Load(t.Context(), c.system)
	if err != nil {
		all, ok := errors.AsType[*cliconfig.Error](err)
		if !ok || cfg != nil {
			t.Fatalf("Load returned %v and the error type %T, want only an *Error", cfg, err)
		}
		for _, p := range all.Problems {
			fmt.Fprintf(&b, "%s %v\n", map[bool]string{true: "warning", false: "error"}[p.Warning], p)
		}
		return b.String()
	}
	for _, p := range cfg.Warnings() {
		fmt.Fprintf(&b, "warning %v\n", p)
	}
	for _, file := range cfg.Files() {
		fmt.Fprintf(&b, "file %s\n", file)
	}
	for _, host := range c.hosts {
		c.reportHost(t, &b, cfg, host)
	}
	if c.oci {
		reportOCI(&b, cfg.OCICredentials())
	}
	if dir := cacheDir(cfg); dir != "" {
		fmt.Fprintf(&b, "cache %s, may break the lock: %v\n", dir, cfg.Installer("x").TrustCache)
	}
	overrides := cfg.Installer("").DevOverrides
	for _, p := range slices.SortedFunc(maps.Keys(overrides), addrs.Provider.Compare) {
		fmt.Fprintf(&b, "override %s = %s\n", p, overrides[p])
	}
	for _, m := range cfg.Methods() {
		fmt.Fprintf(&b, "method %s\n", describeMethod(m, c.providers))
	}
	if r := cfg.Registry(); r.Transport.Retries != 1 || r.Transport.Timeout != 0 || r.Transport.UserAgent != "" {
		_, more, _ := strings.Cut(r.Transport.UserAgent, " ")
		fmt.Fprintf(&b, "requests: retries %d, timeout %v, user agent ... %s\n", r.Transport.Retries, r.Transport.Timeout, more)
	}
	for _, p := range c.providers {
		policy := cfg.Policy(p)
		fmt.Fprintf(&b, "policy %s: unsigned %v, unchecked %v, expired %v\n", p, policy.AllowUnsigned, policy.AllowUnchecked, policy.AllowExpired)
	}
	return b.String()
}

func (c *testCase) reportHost(t *testing.T, b *strings.Builder, cfg *cliconfig.Config, host svchost.Hostname) {
	from, found, err := cfg.TokenOrigin(t.Context(), host)
	token, err2 := cfg.Credentials().Token(t.Context(), host)
	if (err == nil) != (err2 == nil) || found == token.IsZero() {
		t.Errorf("TokenOrigin and Credentials disagree: %v, %v; %v, %v", found, err, token, err2)
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "credentials helper "): // the programs do not exist on this machine
		fmt.Fprintf(b, "token %s: asked %v\n", host.Display(), from)
	case err != nil:
		fmt.Fprintf(b, "token %s: error %v\n", host.Display(), err)
	case found:
		fmt.Fprintf(b, "token %s: %s from %v\n", host.Display(), token.Reveal(), from)
	default:
		fmt.Fprintf(b, "token %s: none, from %v\n", host.Display(), from)
	}
	services, ok := cfg.Discovery().Hosts.Overrides[host]
	if !ok {
		return
	}
	fmt.Fprintf(b, "services %s: %v", host.Display(), services.IDs())
	if u, err := services.URL(disco.ModulesV1); err == nil {
		fmt.Fprintf(b, " %v", u)
	}
	if login, err := services.OAuthClient(); err == nil {
		fmt.Fprintf(b, " login client %s", login.ID)
	}
	fmt.Fprintln(b)
}

func reportOCI(b *strings.Builder, known cliconfig.OCICredentials) {
	for _, c := range known.Blocks {
		fmt.Fprintf(b, "oci %q: %q %q %q %q, helper %q from %v\n", c.Prefix,
			c.Username, c.Password.Reveal(), c.AccessToken.Reveal(), c.RefreshToken.Reveal(), c.Helper, c.Place)
	}
	for _, file := range known.Files {
		fmt.Fprintf(b, "oci file %s, ambient %t\n", file, known.Ambient)
	}
}

func describeMethod(m cliconfig.Method, providers []addrs.Provider) string {
	s := m.String()
	if len(m.Include) > 0 {
		s += fmt.Sprintf(", include %v", m.Include)
	}
	if len(m.Exclude) > 0 {
		s += fmt.Sprintf(", exclude %v", m.Exclude)
	}
	if m.DownloadRetries != 0 {
		s += fmt.Sprintf(", retries %d", m.DownloadRetries)
	}
	if m.TrustAllHashes {
		s += ", trust all hashes"
	}
	if m.Implicit {
		s += ", implicit"
	}
	for _, p := range providers {
		if m.Kind == "oci_mirror" && m.Selects(p) {
			s += fmt.Sprintf(", %s in %s", p, m.Repository(p))
		}
	}
	return s
}

// TestCases compares the reports of all files in testdata. With -update, it writes the
// reports into the files.
func TestCases(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(string(must.Get(os.ReadFile(path))(t)), "\r\n", "\n")
			c := parseCase(t, text)
			got := c.report(t)
			if *update {
				before, _, _ := strings.Cut(text, "-- want --\n")
				must.Do(t, os.WriteFile(path, []byte(before+"-- want --\n"+got), 0o644))
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if strings.Contains(got, "never-shown") {
				t.Errorf("the report shows a secret:\n%s", got)
			}
		})
	}
}

// cacheDir returns the plugin cache of a configuration, or "".
func cacheDir(cfg *cliconfig.Config) string {
	if cache := cfg.Installer("x").Cache; cache != nil {
		return cache.Path
	}
	return ""
}
