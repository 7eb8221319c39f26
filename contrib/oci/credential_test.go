package oci_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/contrib/oci/internal/must"
	"github.com/tofureg/tofureg/failure"
)

const blocks = `
oci_credentials "oci.test/a" {
  username = "u1"
  password = "p w"
}
oci_credentials "oci.test" {
  username = "u2"
  password = "p2"
}
oci_credentials "tokens.test:5000" {
  access_token  = "t1"
  refresh_token = "t2"
}
oci_credentials "helper.test" {
  docker_credentials_helper = "one"
}
`

// TestDockerFiles chooses credentials of blocks and Docker-style files.
func TestDockerFiles(t *testing.T) {
	t.Parallel()
	const first, second = ".config/containers/auth.json", ".docker/config.json"
	for _, c := range []struct {
		name, config string
		files        map[string]string // in the home directory
		want         map[string]string // by repository; "" for none
	}{
		{
			name: "the longest prefix, then blocks, then the first file", config: blocks,
			files: map[string]string{
				first: `{"auths": {"oci.test": {"auth": "ZmlsZTpuZXZlci1zaG93bg=="}, "oci.test/a/b": {"auth": "ZGVlcDplcg=="},
					"docker.test": {"auth": "ZDoxOjI="}, "kept.test": {}, "null.test": null, "": {"auth": "YTpuZXZlci1zaG93bg=="},
					"https://index.docker.io/v1/": {"auth": "aHViOjE="}, "bad.test": {"auth": "bmV2ZXItc2hvd24="}},
					"credHelpers": {"kept.test": "two", "kept.test/deep": "never", "": "never"}, "credsStore": "three"}`,
				second: `{"auths": {"docker.test": {"auth": "bGF0ZXI6bmV2ZXItc2hvd24="}, "docker.test/deep": {"auth": "bGF0ZXI6bG9uZ2Vy"},
					"docker.io": {"auth": "bGF0ZXI6bmV2ZXItc2hvd24="}}}`,
			},
			want: map[string]string{
				"oci.test/a/b/c": `"deep" "er"`, "oci.test/a/bc": `"u1" "p w"`, "oci.test/x": `"u2" "p2"`, "tokens.test:5000/x": `"" "" "t1" "t2"`,
				"helper.test/x": "helper one", "docker.test/deep/y": `"later" "longer"`, "docker.test/x": `"d" "1:2"`, "kept.test/deep/x": "helper two",
				"docker.io/acme/x": `"hub" "1"`, "index.docker.io/x": "helper three", "null.test/x": "helper three", "other.test/x": "helper three",
				"bad.test/x": `error ` + filepath.FromSlash(first) + `: auth of "bad.test": it must be USERNAME:PASSWORD in base64`,
			},
		},
		{
			name:  "an invalid file at a usual place",
			files: map[string]string{first: `{"auths": {"docker.test": {"auth": "eDpuZXZlci1zaG93bg=="}}}`, second: `{"auths": "never-shown"}`},
			want:  map[string]string{"docker.test/x": ""},
		},
		{
			name: "named files and a helper for all other hosts",
			config: `oci_default_credentials {
				docker_style_config_files = ["my.json", "other.json"]
				docker_credentials_helper = "mine"
			}`,
			files: map[string]string{
				"my.json": `{"auths": {"docker.test": {"auth": "bXk6b3du"}}}`, "other.json": `{"auths": {"docker.test": {"auth": "bXk6bmV2ZXItc2hvd24="}}, "credsStore": "three"}`,
				second: `{"auths": {"other.test": {"auth": "eDpuZXZlci1zaG93bg=="}}}`,
			},
			want: map[string]string{"docker.test/x": `"my" "own"`, "other.test/x": "helper mine"},
		},
		{
			name: "an invalid named file", config: `oci_default_credentials { docker_style_config_files = ["my.json"] }`,
			files: map[string]string{"my.json": `{"auths": "never-shown"}`},
			want:  map[string]string{"docker.test/x": `error "my.json" is not a valid Docker-style configuration file`},
		},
		{
			name: "Docker Hub under both names",
			files: map[string]string{second: `{"auths": {"https://index.docker.io/v1/": {"auth": "YTpuZXZlci1zaG93bg=="}, "docker.io": {"auth": "aHViOjE="}},
				"credHelpers": {"https://index.docker.io/v1/": "hub"}}`},
			want: map[string]string{"docker.io/x": `"hub" "1"`},
		},
		{
			name:  "a helper for Docker Hub",
			files: map[string]string{second: `{"auths": {"https://index.docker.io/v1/": {}}, "credHelpers": {"https://index.docker.io/v1/": "hub"}}`},
			want:  map[string]string{"docker.io/x": "helper hub", "other.test/x": ""},
		},
		{name: "no files", want: map[string]string{"docker.test/x": ""}},
	} {
		home, log := t.TempDir(), &strings.Builder{}
		for name, text := range c.files {
			writeFile(t, filepath.Join(home, name), text)
		}
		config := must.Get(cliconfig.Parse(cliconfig.System{GOOS: runtime.GOOS, Home: home}, filepath.Join(home, "x.tfrc"), []byte(c.config)))(t)
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
		client := oci.Configure(config)
		for repository, want := range c.want {
			found, err := client.Credential(repository)
			got := strings.TrimSpace(strings.TrimSuffix(fmt.Sprintf("%q %q %q %q", found.Username, found.Password.Reveal(), found.AccessToken.Reveal(), found.RefreshToken.Reveal()), ` "" ""`))
			switch {
			case err != nil:
				text := strings.ReplaceAll(err.Error(), `\\`, `\`) // a quoted path on Windows
				got = "error " + strings.ReplaceAll(text, home+string(filepath.Separator), "")
			case found.Helper != "":
				got = "helper " + found.Helper
			case got == `"" ""`:
				got = ""
			}
			if got != want || err != nil && strings.Contains(err.Error(), "never-shown") {
				t.Errorf("%s: Credential(%q): %s, want %s", c.name, repository, got, want)
			}
		}
		if logged := log.String(); strings.Contains(logged, "never-shown") || strings.Contains(logged, "ignored Docker-style") != (c.name == "an invalid file at a usual place") {
			t.Errorf("%s: logged %q", c.name, logged)
		}
	}
}

// TestDockerFileLimits names a missing file, and files at the limit and beyond it.
func TestDockerFileLimits(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	writeFile(t, filepath.Join(home, "full"), "{}"+strings.Repeat(" ", 1<<20-2))
	writeFile(t, filepath.Join(home, "more"), "{}"+strings.Repeat(" ", 1<<20-1))
	for name, want := range map[string]error{"full": nil, "more": failure.ErrTooLarge, "none": fs.ErrNotExist} {
		config := must.Get(cliconfig.Parse(cliconfig.System{Home: home}, filepath.Join(home, "x.tfrc"), []byte(`oci_default_credentials { docker_style_config_files = ["`+name+`"] }`)))(t)
		if _, err := oci.Configure(config).Credential("a.test/x"); !errors.Is(err, want) {
			t.Errorf("Credential with the file %q: %v, want %v", name, err, want)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

const helperProgram = "docker-credential-test"

// helperKey is the variable with the only key that the helper has. The key "broken" fails.
const helperKey = "TOFUREG_TEST_KEY"

// TestMain runs a credential helper if the program has its name. The password is the key that it is
// asked for.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == helperProgram {
		asked, _ := io.ReadAll(os.Stdin)
		switch key := os.Getenv(helperKey); {
		case key == "broken":
			fmt.Println("never-shown")
			os.Exit(1)
		case key != strings.TrimSpace(string(asked)):
			fmt.Println("credentials not found in native keychain")
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"Username": "helper", "Secret": strings.TrimSpace(string(asked))})
		return
	}
	os.Exit(m.Run())
}

// wantBasic refuses requests without this user and password, and calls next for others.
func wantBasic(user, password string, next func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"never-shown"}]}`, http.StatusUnauthorized)
			return true
		}
		return next != nil && next(w, r)
	}
}

// credentials returns a block of the CLI configuration for user u.
func credentials(host, password string) string {
	return fmt.Sprintf("oci_credentials %q {\n  username = \"u\"\n  password = %q\n}\n", host, password)
}
